import type { Duplex } from "node:stream";
import type { Socket as Connection } from "engine.io";

/** What is still open of a kind, so that a shutdown can wait for it. */
export class OpenSet<
  T extends { on(event: "close", listener: () => void): unknown },
> {
  readonly #open = new Set<T>();

  /** Counts `item` until it closes. */
  add(item: T): void {
    this.#open.add(item);
    item.on("close", () => this.#open.delete(item));
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#open.values();
  }
}

/** Resolves when every connection has handed what was written to it to its transport, or at the deadline. */
export const flushed = (
  connections: Iterable<Connection>,
  milliseconds: number,
): Promise<void> =>
  all(connections, milliseconds, (connection, done) => {
    if (connection["writeBuffer"].length === 0) return done();
    connection.once("drain", done);
    connection.once("close", done);
  });

/** Resolves when every socket is closed; those that are not at the deadline are destroyed. */
export async function closed(
  sockets: Iterable<Duplex>,
  milliseconds: number,
): Promise<void> {
  await all(sockets, milliseconds, (socket, done) => {
    if (socket.closed) done();
    else socket.once("close", done);
  });
  for (const socket of sockets) socket.destroy();
}

function all<T>(
  items: Iterable<T>,
  milliseconds: number,
  wait: (item: T, done: () => void) => void,
): Promise<void> {
  const each = [...items].map((item) =>
    new Promise<void>((resolve) => wait(item, resolve))
  );
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    Promise.all(each).then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
