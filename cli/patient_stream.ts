import type { LineStream } from "./line_queue.ts";

/** What is needed of `process.stderr`. */
interface Stderr extends LineStream {
  readonly isTTY?: boolean;
}

/** What is needed of `Socket` of `node:net`. */
type SocketClass = new (
  options: { fd: number; readable: boolean; writable: boolean },
) => LineStream;

const STDERR = 2;

/**
 * A stream to stderr whose `write` returns at once, whether somebody reads or not: Deno's own waits
 * for the reader of a pipe, and that of a terminal waits in both, for as long as it is stopped with
 * Ctrl-S. A file stays as it is: disks do not stop.
 *
 * @param Socket of `node:net`
 */
export function patientStream(
  stderr: Stderr,
  Socket: SocketClass,
): LineStream {
  if (stderr.isTTY) {
    const handle: unknown = Reflect.get(stderr, "_handle");
    if (canUnblock(handle)) handle.setBlocking(false);
    return stderr;
  }
  if (stderr instanceof Socket) return stderr;
  try {
    return new Socket({ fd: STDERR, readable: false, writable: true });
  } catch {
    return stderr; // neither a pipe nor a socket
  }
}

const canUnblock = (
  handle: unknown,
): handle is { setBlocking(blocking: boolean): unknown } =>
  typeof handle === "object" && handle !== null && "setBlocking" in handle &&
  typeof handle.setBlocking === "function";
