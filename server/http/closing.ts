import { limitTime } from "../shared/pending.ts";
import type { Connection } from "../wire/mod.ts";

/** Resolves when every connection has passed its queued packets to its transport, or at the deadline. */
export const flushed = (
  connections: Iterable<Connection>,
  milliseconds: number,
): Promise<void> =>
  all(connections, milliseconds, (connection, done) => {
    if (!connection.hasQueued) return done();
    connection.on("drain", done);
    connection.on("close", done);
  });

/** A socket, or the response to a request. */
interface Closing {
  readonly closed: boolean;
  destroy(): unknown;
  on(event: "close", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** Tracks open sockets, so that a shutdown can wait for them. */
export class OpenSockets {
  readonly #open = new Set<Closing>();

  /** Tracks `socket` until it closes. */
  add(socket: Closing): void {
    this.#open.add(socket);
    // It closes once anyway, and `once` would keep more objects until then.
    socket.on("close", () => this.#open.delete(socket));
  }

  [Symbol.iterator](): Iterator<Closing> {
    return this.#open.values();
  }
}

/** Resolves when all are closed; destroys those that are open at the deadline. */
export async function closed(
  sockets: Iterable<Closing>,
  milliseconds: number,
): Promise<void> {
  await all(sockets, milliseconds, (socket, done) => {
    if (socket.closed) done();
    else socket.once("close", done);
  });
  for (const socket of sockets) socket.destroy();
}

function all<T>(
  items: Iterable<T>,
  milliseconds: number,
  wait: (item: T, done: () => void) => void,
): Promise<void> {
  const each = [...items].map((item) =>
    new Promise<void>((resolve) => wait(item, resolve))
  );
  return new Promise((resolve) => {
    const stop = limitTime(milliseconds, resolve);
    Promise.all(each).then(() => {
      stop();
      resolve();
    });
  });
}
