import { connect } from "node:tls";
import type { Address } from "./url.ts";
import type { RedisTls } from "./tls.ts";

/**
 * Makes a connection with TLS, and waits for the first answer.
 *
 * The package `redis` listens for errors a moment after the handshake. In Deno the refusal of a client
 * certificate, which TLS 1.3 tells after the handshake, comes before that, and would end the process.
 * So a server that refuses is met here first.
 *
 * @throws {Error} what the server or the check of its certificate says
 */
export async function probeTls(
  address: Address,
  tls: RedisTls,
  timeoutMs: number,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({
    ...("path" in address ? { path: address.path } : address),
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.cert !== undefined && { cert: tls.cert }),
    ...(tls.key !== undefined && { key: tls.key }),
  });
  // Whatever Redis says to it, that it says something is enough.
  socket.once("secureConnect", () => socket.write("PING\r\n"));
  socket.once("data", () => resolve());
  socket.on("error", reject);
  socket.once("close", () => reject(new Error("Socket closed unexpectedly")));
  socket.setTimeout(
    timeoutMs,
    () => reject(new Error("Connection timeout")),
  );
  try {
    await promise;
  } finally {
    socket.destroy();
  }
}
