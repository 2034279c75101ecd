import type { Server as HttpServer, ServerOptions } from "node:http";
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

/** How often a HTTP server looks for requests that are late; in milliseconds. */
const CHECK_INTERVAL = 1000;

/** The options of a HTTP server whose clients have so many seconds for the headers of a request (spec §10). */
export const timeouts = (headers: number): ServerOptions => ({
  headersTimeout: headers * 1000,
  connectionsCheckingInterval: CHECK_INTERVAL,
});
