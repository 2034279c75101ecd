import { onAbort } from "../shared/async.ts";
import type { Socket } from "socket.io-client";
import { ConnectionError } from "./errors.ts";
import type { RequestOptions } from "./options.ts";

/**
 * Emits an event and resolves with every argument of its ack.
 *
 * @param isLost returns whether the caller's session has ended: a later answer is dropped
 * @param onAck called synchronously with the same arguments, before later packets of the Server are read
 * @throws {ConnectionError} `lost` when the connection ends first, or `timeout`
 * @throws the signal's reason when it is aborted; a later answer is dropped
 */
export function ask(
  socket: Socket,
  event: string,
  payload: unknown,
  { timeoutMs, signal }: RequestOptions,
  isLost: () => boolean,
  onAck?: (args: unknown[]) => void,
): Promise<unknown[]> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const off = onAbort(signal, () => reject(signal?.reason));
    socket.timeout(timeoutMs).emit(
      event,
      payload,
      (error: Error | null, ...args: unknown[]) => {
        off();
        if (!error && !isLost()) {
          onAck?.(args);
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
