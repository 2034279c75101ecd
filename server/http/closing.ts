import { limitTime } from "../../shared/deadlines.ts";
import type { WireConnection } from "../wire/mod.ts";

/** How long a shutdown waits for clients that do not read, or do not close. */
const TIMEOUT_MS = 1000;

/** Resolves when every connection has passed its queued packets to its transport, or at the deadline. */
export const flushed = (connections: Iterable<WireConnection>): Promise<void> =>
  all(connections, TIMEOUT_MS, (connection, done) => {
    if (!connection.hasQueued) return done();
    connection.on("drain", done);
    connection.on("close", done);
  });

/** A socket, or the response to a request. */
interface Closing {
  readonly closed: boolean;
  destroy(): unknown;
  on(event: "close", listener: () => void): unknown;
}

/** Keeps a socket among the open ones until it closes, so that a shutdown can wait for it. */
export function track(open: Set<Closing>, socket: Closing): void {
  open.add(socket);
  // It closes once anyway, and `once` would keep more objects until then.
  socket.on("close", () => open.delete(socket));
}

/** Resolves when all are closed; destroys those that are open at the deadline. */
export async function closed(
  sockets: Iterable<Closing>,
  milliseconds: number = TIMEOUT_MS,
): Promise<void> {
  await all(sockets, milliseconds, (socket, done) => {
    if (socket.closed) done();
    else socket.on("close", done);
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
