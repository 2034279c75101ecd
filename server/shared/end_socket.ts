import { Buffer } from "node:buffer";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Refusal } from "./http.ts";

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

/** Converts a refusal to HTTP/1.1 text, for a socket that no HTTP server answers; it is closed afterwards. */
export const toHttpText = ({ status, headers, body }: Refusal): string => {
  const lines = Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n` +
    `Connection: close\r\n\r\n${body}`;
};
