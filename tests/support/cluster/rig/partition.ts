import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Which bytes a {@linkcode Partition} holds back. */
export type Held = "both" | "toServer" | "toClient";

/** A TCP proxy that can stop passing bytes, as a network does that loses packets; it closes nothing. */
export interface Partition extends AsyncDisposable {
  readonly port: number;
  /** Passes no bytes in one direction or in both from now on; new connections get as far as this proxy. */
  hold(which: Held): void;
  /** Passes on what was held back, and all that comes. */
  heal(): void;
}

/** Starts a proxy for the server on a port of this machine. */
export async function startPartition(target: number): Promise<Partition> {
  let held: Held | undefined;
  const pairs = new Set<Pair>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const pair = new Pair(client, connect(target, "127.0.0.1"));
    pairs.add(pair);
    pair.obey(held);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const obey = (which: Held | undefined) => {
    held = which;
    for (const pair of pairs) pair.obey(which);
  };
  return {
    port,
    hold: obey,
    heal: () => obey(undefined),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const pair of pairs) pair.destroy();
      await closed;
    },
  };
}

/** A client's connection, and the one that was made for it. */
class Pair {
  readonly #ways: readonly [Way, Way];

  constructor(client: Socket, server: Socket) {
    this.#ways = [new Way(client, server), new Way(server, client)];
  }

  obey(held: Held | undefined): void {
    const [toServer, toClient] = this.#ways;
    toServer.hold(held === "both" || held === "toServer");
    toClient.hold(held === "both" || held === "toClient");
  }

  destroy(): void {
    for (const way of this.#ways) way.destroy();
  }
}

/** One direction of a connection. */
class Way {
  readonly #from: Socket;
  readonly #to: Socket;
  #isHeld = false;
  #isOver = false;

  constructor(from: Socket, to: Socket) {
    this.#from = from;
    this.#to = to;
    from.on("error", () => {});
    from.on("data", (bytes) => void (to.writable && to.write(bytes)));
    from.on("end", () => to.end());
    from.on("close", () => {
      this.#isOver = true;
      if (!this.#isHeld) to.destroy();
    });
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#from.pause();
    else this.#from.resume();
    // Its end is a packet too: the other side learns of it only now.
    if (!isHeld && this.#isOver) this.#to.destroy();
  }

  destroy(): void {
    this.#from.destroy();
  }
}
