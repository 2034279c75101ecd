import { onAbort } from "../shared/async.ts";
import type { Emitter } from "./emitter.ts";
import { ConnectionError } from "./errors/errors.ts";
import type { LinkEvents } from "./options.ts";

/**
 * Resolves at the next change: connected, disconnected, or joined an office.
 *
 * @throws the signal's reason when it is aborted
 */
function nextChange(
  events: Emitter<LinkEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const offs = (["connected", "joined", "disconnected"] as const).map(
      (event) => events.on(event, () => done(resolve)),
    );
    const done = (settle: () => void) => {
      offs.forEach((off) => off());
      settle();
    };
    offs.push(onAbort(signal, () => done(() => reject(signal?.reason))));
  });
}

/**
 * Resolves when `isReady` returns true; checks it after each change of the connection.
 *
 * @param isReady throws if that has become impossible
 */
export async function until(
  isReady: () => boolean,
  events: Emitter<LinkEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  while (!isReady()) await nextChange(events, signal);
}

/** Awaits the outcome of the first attempt to connect: `connected`, an error, or the end of the connection. */
export function firstOutcome(events: Emitter<LinkEvents>): {
  readonly done: Promise<void>;
  readonly fail: (error: Error) => void;
} {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const offs = [
    events.on("connected", () => resolve()),
    events.on("disconnected", ({ reason }) => {
      reject(new ConnectionError("closed", `Cannot connect: ${reason}`));
    }),
  ];
  const done = promise.finally(() => offs.forEach((off) => off()));
  return { done, fail: reject };
}
