import type { Duplex } from "node:stream";

/** How long a peer may take to read its answer and close its side. */
const CLOSE_TIMEOUT_MS = 1000;

/**
 * Sends an answer over a socket that no HTTP server handles, and closes it.
 *
 * Destroying it immediately could lose the answer. HTTP timeouts do not apply to it, and its peer may
 * never close, so it is destroyed after a while.
 */
export function endSocket(socket: Duplex, answer: string): void {
  socket.on("error", () => {}); // the peer may be gone already
  socket.resume(); // needed to read its end
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS);
  socket.once("close", () => clearTimeout(timer));
  socket.end(answer);
}
