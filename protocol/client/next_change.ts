import type { Emitter } from "./emitter.ts";
import type { ConnectionEvents } from "./options.ts";

/**
 * Resolves when a connection comes, goes, or joins its office; looks at nothing itself.
 *
 * @throws the signal's reason, once it is aborted
 */
export function nextChange(
  events: Emitter<ConnectionEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const offs = (["connected", "joined", "disconnected"] as const).map(
      (event) => events.on(event, () => done(resolve)),
    );
    const onAbort = () => done(() => reject(signal?.reason));
    const done = (settle: () => void) => {
      offs.forEach((off) => off());
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
