import type { LineStream } from "./line_queue.ts";

/** The parts of `process.stderr` in use. */
interface Stderr extends LineStream {
  readonly isTTY?: boolean;
}

/** The constructor of `Socket` of `node:net`. */
type SocketClass = new (
  options: { fd: number; readable: boolean; writable: boolean },
) => LineStream;

const STDERR = 2;

/**
 * Returns a stream to stderr whose `write` never blocks. Deno's own blocks until a pipe is read, and
 * in both runtimes that of a terminal blocks while it is paused with Ctrl-S. A file is used as it is,
 * since disks do not pause.
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
