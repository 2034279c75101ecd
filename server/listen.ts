import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress, ListenOptions } from "./options.ts";

/** Makes a server listen; rejects with the system's error, such as `EADDRINUSE`. */
export async function listenOn(
  server: HttpServer,
  { hostname = "127.0.0.1", port = 0 }: ListenOptions,
): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port: actual } = server.address() as AddressInfo;
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return { url: `http://${host}:${actual}`, hostname, port: actual };
}

/** Closes a server and what is left of its connections. */
export const closeServer = (server: HttpServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
