import type { Authenticator } from "../auth/authenticator.ts";
import { atTime, recheckAll } from "../doors/expiry.ts";
import type { Limiter } from "../limits/limiter.ts";
import { RequestRates } from "../limits/limits.ts";
import type { ProtocolError } from "../../protocol/mod.ts";
import type { Identity } from "../shared/identity.ts";
import type { Outgoing } from "../shared/http.ts";
import { closed } from "../http/closing.ts";

/** How long a shutdown waits for clients that do not read. */
const END_TIMEOUT_MS = 1000;

/** A request that is not answered to its end. */
interface Exchange {
  readonly identity: Identity;
  /** Cancels its end at the expiry of the credentials. */
  readonly prevent: () => void;
}

/**
 * The requests of a gateway's clients that are not answered to their end. Streams can be open for
 * hours, so each ends with the credentials that it was opened with.
 */
export class OpenExchanges {
  readonly #open = new Map<Outgoing, Exchange | undefined>();
  readonly #authenticator: Authenticator | undefined;
  readonly #limiter: Limiter;
  readonly #rates: RequestRates;

  /**
   * @param authenticator checks credentials again
   * @param limiter has the limits of each client
   */
  constructor(
    { authenticator, limiter }: {
      readonly authenticator: Authenticator | undefined;
      readonly limiter: Limiter;
    },
  ) {
    this.#authenticator = authenticator;
    this.#limiter = limiter;
    this.#rates = new RequestRates(limiter.limits);
  }

  /**
   * Counts a request to its client until its answer has ended.
   *
   * @returns the error for one beyond a limit
   */
  count(
    outgoing: Outgoing,
    address: string,
    principal: string | undefined,
  ): ProtocolError | undefined {
    const client = principal ?? `address ${address}`;
    const taken = this.#rates.take(client, performance.now());
    if (typeof taken === "function") return void outgoing.on("close", taken);
    return this.#limiter.refuse(taken, {
      address,
      ...(principal !== undefined && { principal }),
    });
  }

  /** Watches a request until its answer has ended. */
  add(outgoing: Outgoing, identity: Identity | undefined): void {
    this.#open.set(outgoing, identity && exchange(outgoing, identity));
    outgoing.on("close", () => {
      this.#open.get(outgoing)?.prevent();
      this.#open.delete(outgoing);
    });
  }

  /** Ends the requests of those whose credentials are not valid any more. */
  recheck(): Promise<void> {
    return recheckAll(
      [...this.#open].map(async ([outgoing, open]) => {
        if (open === undefined) return;
        const verdict = await this.#authenticator?.refresh?.(open.identity);
        if (verdict === undefined || !this.#open.has(outgoing)) return;
        if ("refused" in verdict) return void outgoing.destroy();
        open.prevent();
        this.#open.set(outgoing, exchange(outgoing, verdict));
      }),
    );
  }

  /** Resolves when all have ended; those that have not after a second are ended. */
  ended(): Promise<void> {
    return closed([...this.#open.keys()], END_TIMEOUT_MS);
  }
}

/** Ends a request at the expiry of the credentials that it was sent with. */
const exchange = (outgoing: Outgoing, identity: Identity): Exchange => ({
  identity,
  prevent: identity.expiresAt === undefined
    ? () => {}
    : atTime(identity.expiresAt, () => outgoing.destroy()),
});
