import type { Socket } from "socket.io-client";

/** How long leaving the office may take when closing, and again closing the connection. */
export const CLOSE_TIMEOUT_MS = 3_000;

/**
 * Resolves when the connection of a socket is closed; immediately if there is none.
 *
 * Limited in time, since a Server that is gone never reads the queued packets.
 */
export function whenClosed(socket: Socket | undefined): Promise<void> {
  const engine = socket?.io.engine;
  return new Promise((resolve) => {
    if (!engine || engine.readyState === "closed") return resolve();
    const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    engine.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
