import type { Duplex } from "node:stream";

/** How long a peer may take to read its answer and close its side; in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/**
 * Ends a socket with an answer that no HTTP server sends.
 *
 * No timeout of HTTP applies to it any more, and its peer may never close: it is destroyed then.
 * Destroyed at once, it could lose the answer.
 */
export function endSocket(socket: Duplex, answer: string): void {
  socket.on("error", () => {}); // the peer may be gone already
  socket.resume(); // or its end would never be read
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS);
  socket.once("close", () => clearTimeout(timer));
  socket.end(answer);
}
