import { onAbort } from "../shared/async.ts";
import { ConnectionError } from "./errors/errors.ts";
import type { RequestOptions } from "./options.ts";
import type { Wire } from "./wire.ts";

/** A request, and how its sender waits for the answer. */
export interface Question {
  readonly event: string;
  readonly payload: object;
  readonly options: RequestOptions;
  /** Returns whether the caller's session has ended: a later answer is dropped. */
  readonly isLost: () => boolean;
  /** Called synchronously with the arguments of the ack, before later packets of the Server are read. */
  readonly onAck?: ((args: unknown[]) => void) | undefined;
}

/**
 * Sends a request and resolves with every argument of its ack.
 *
 * @throws {ConnectionError} `lost` when the connection ends first, or `timeout`
 * @throws the signal's reason when it is aborted; a later answer is dropped
 */
export function ask(
  wire: Wire,
  { event, payload, options: { timeoutMs, signal }, isLost, onAck }: Question,
): Promise<unknown[]> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const off = onAbort(signal, () => reject(signal?.reason));
    wire.ask(event, payload, timeoutMs, (args) => {
      off();
      if (isLost()) {
        const why = `The connection was lost before ${event} was answered`;
        return reject(new ConnectionError("lost", why));
      }
      if (args === undefined) {
        const why = `${event} was not answered within ${timeoutMs / 1000} s`;
        return reject(new ConnectionError("timeout", why));
      }
      onAck?.(args);
      resolve(args);
    });
  });
}
