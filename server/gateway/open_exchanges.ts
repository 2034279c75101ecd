import type { HttpBindings } from "@hono/node-server";
import type { Authenticator } from "../auth/authenticator.ts";
import { recheckAll } from "../sessions/recheck.ts";
import type { Identity } from "../shared/identity.ts";
import { closed } from "../http/closing.ts";

type Outgoing = HttpBindings["outgoing"];

/** How long a shutdown waits for clients that do not read. */
const END_TIMEOUT_MS = 1000;
/** The longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The requests of a gateway's clients that are not answered to their end. Streams can be open for
 * hours, so each ends with the credentials that it was opened with.
 */
export class OpenExchanges {
  readonly #open = new Map<Outgoing, Identity | undefined>();
  readonly #authenticator: Authenticator | undefined;

  /** @param authenticator checks credentials again */
  constructor(authenticator: Authenticator | undefined) {
    this.#authenticator = authenticator;
  }

  /** Watches a request until its answer has ended. */
  add(outgoing: Outgoing, identity: Identity | undefined): void {
    this.#open.set(outgoing, identity);
    const timer = identity?.expiresAt === undefined ? undefined : setTimeout(
      () => outgoing.destroy(),
      Math.min(identity.expiresAt - Date.now(), MAX_TIMER_MS),
    );
    outgoing.on("close", () => {
      clearTimeout(timer);
      this.#open.delete(outgoing);
    });
  }

  /** Ends the requests of those whose credentials are not valid any more. */
  recheck(): Promise<void> {
    return recheckAll(
      [...this.#open].map(async ([outgoing, identity]) => {
        if (identity === undefined) return;
        const verdict = await this.#authenticator?.refresh?.(identity);
        if (verdict !== undefined && "refused" in verdict) outgoing.destroy();
      }),
    );
  }

  /** Resolves when all have ended; those that have not after a second are ended. */
  ended(): Promise<void> {
    return closed([...this.#open.keys()], END_TIMEOUT_MS);
  }
}
