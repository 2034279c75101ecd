import type { Socket } from "socket.io-client";
import { ConnectionError } from "./errors.ts";
import type { RequestOptions } from "./options.ts";

/**
 * Emits an event and resolves with every argument of its ack.
 *
 * @param isLost tells whether the caller's session is over: a later answer is dropped
 * @param heard called with the same at once, before anything that the Server sent after the ack is read
 * @throws {ConnectionError} `lost` when the connection goes away first, `timeout`
 * @throws the signal's reason, once it is aborted; a later answer is dropped
 */
export function ask(
  socket: Socket,
  event: string,
  payload: unknown,
  { timeoutMs, signal }: RequestOptions,
  isLost: () => boolean,
  heard?: (args: unknown[]) => void,
): Promise<unknown[]> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    socket.timeout(timeoutMs).emit(
      event,
      payload,
      (error: Error | null, ...args: unknown[]) => {
        signal?.removeEventListener("abort", onAbort);
        if (!error && !isLost()) {
          heard?.(args);
          return resolve(args);
        }
        reject(
          isLost()
            ? new ConnectionError(
              "lost",
              `The connection was lost before ${event} was answered`,
            )
            : new ConnectionError(
              "timeout",
              `${event} was not answered within ${timeoutMs / 1000} s`,
            ),
        );
      },
    );
  });
}
