import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy that can lose connections the way networks do. */
export interface Proxy extends AsyncDisposable {
  /** The URL for clients. */
  readonly url: string;
  /** Drops every connection on the client's side; the server does not notice. */
  cut(): void;
  /** Drops every connection on both sides. */
  sever(): void;
  /** Forwards future connections to another server, such as the successor of one that has ended. */
  turnTo(url: string): void;
}

/** Starts a proxy for the server at `url`. */
export async function startProxy(url: string): Promise<Proxy> {
  let target = new URL(url);
  const near = new Set<Socket>();
  const far = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    near.add(client);
    far.add(upstream);
    client.on("error", () => {});
    upstream.on("error", () => client.destroy()); // as if it were refused
    client.on("data", (bytes) => upstream.write(bytes));
    client.on("end", () => upstream.end());
    upstream.on("data", (bytes) => client.writable && client.write(bytes));
    upstream.on("end", () => client.end());
    client.on("close", () => near.delete(client));
    upstream.on("close", () => far.delete(upstream));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    cut: () => near.forEach((socket) => socket.destroy()),
    sever: () => {
      for (const socket of [...near, ...far]) socket.destroy();
    },
    turnTo: (url) => target = new URL(url),
    [Symbol.asyncDispose]: async () => {
      const closed = [
        new Promise((resolve) => server.close(resolve)),
        ...[...far].map((socket) =>
          new Promise((resolve) => socket.once("close", resolve))
        ),
      ];
      for (const socket of [...near, ...far]) socket.destroy();
      await Promise.all(closed);
    },
  };
}
