/**
 * What ends with its credentials: sessions, and requests whose answers last. An identity may expire, be
 * replaced or be revoked; rechecks ask the authenticator again.
 *
 * @module
 */
import { clearTimeout, setTimeout } from "node:timers";
import type { OfficeClient } from "../office/office_client.ts";
import { partyOf, type Peer } from "../office/peer.ts";
import { type Journal, seatOf } from "../shared/audit.ts";
import type { ProtocolError } from "../../protocol/mod.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { closed } from "../http/closing.ts";
import type { RequestParts } from "../http/gate.ts";
import { type RequestKind, RequestRates } from "../limits/limits.ts";
import type { Outgoing } from "../shared/http.ts";
import type { Identity } from "../shared/identity.ts";
import { failure, log } from "../shared/log.ts";
import type { ClientSocket } from "../wire/mod.ts";
import { type Placed, SwapList } from "../../shared/swap_list.ts";

/** The longest delay of a timer in milliseconds; a longer one would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The real one. */
export const SYSTEM_CLOCK = {
  /** Milliseconds since 1970. */
  now: (): number => Date.now(),
  /** Calls back after a number of milliseconds; returns a function that cancels it. */
  after: (milliseconds: number, callBack: () => void): () => void => {
    const timer = setTimeout(callBack, milliseconds);
    timer.unref(); // must not keep the process alive
    return () => clearTimeout(timer);
  },
};

/** The clock and timers that {@linkcode atTime} uses. */
export type Clock = typeof SYSTEM_CLOCK;

/**
 * Calls back at a given time, never earlier and never synchronously; a past time means now.
 *
 * @param time milliseconds since 1970, however far in the future; `Infinity` for never
 * @returns a function that cancels it
 */
export function atTime(
  time: number,
  callBack: () => void,
  clock: Clock = SYSTEM_CLOCK,
): () => void {
  let prevent = () => {};
  const wait = () => {
    const left = Math.min(Math.max(0, time - clock.now()), MAX_TIMER_MS);
    prevent = clock.after(left, () => {
      if (clock.now() < time) wait();
      else callBack();
    });
  };
  if (time !== Infinity) wait();
  return () => prevent();
}

/** A session that ends with its credentials. */
interface ExpiringSession extends Peer {
  /** Replaced by rechecks. */
  identity: Identity | undefined;
  /** Called when it was replaced by another one, which may expire at another time. */
  readonly renewed: (() => void) | undefined;
  readonly socket: ClientSocket;
  readonly connection: OfficeClient;
}

/**
 * Ends a session when its credentials expire (protocol §10).
 *
 * Closes the connection, not the namespace, so that the client reconnects by itself: with new
 * credentials if it has any, otherwise it gets 401.
 *
 * @returns a function to call when the identity of the session has another expiry
 */
export function endAtExpiry(
  session: ExpiringSession,
  journal: Journal,
  clock: Clock = SYSTEM_CLOCK,
): () => void {
  const { socket } = session;
  let prevent = () => {};
  const end = () => {
    journal.write({
      event: "session_expired",
      ...partyOf(session),
      ...seatOf(session.connection.held),
    });
    socket.conn.close();
  };
  const start = () => {
    prevent();
    const { expiresAt = Infinity } = session.identity ?? {};
    prevent = atTime(socket.connected ? expiresAt : Infinity, end, clock);
  };
  start();
  socket.once("disconnect", () => prevent());
  return start;
}

/**
 * Waits for rechecks of sessions, and logs one line for all that failed: those sessions stay, since an
 * unreachable issuer is no verdict about their credentials.
 */
export async function recheckAll(
  rechecks: readonly Promise<void>[],
): Promise<void> {
  const failures = (await Promise.allSettled(rechecks))
    .filter((each) => each.status === "rejected");
  const [first] = failures;
  if (first === undefined) return;
  log.error("Cannot recheck the credentials of sessions; they stay", {
    sessions: failures.length,
    ...failure(first.reason),
  });
}

/**
 * Rechecks the credentials of a session: the result applies to its next join, and ends the session if
 * they are no longer valid (protocol §10).
 *
 * Before that, its calls are answered and its office is notified. As in {@linkcode endAtExpiry}, the
 * connection is closed, so that the client reconnects by itself: with other credentials if it has any,
 * otherwise it gets 401.
 */
export async function recheck(
  session: ExpiringSession,
  authenticator: Authenticator | undefined,
  journal: Journal,
): Promise<void> {
  const { identity, connection, socket } = session;
  if (identity === undefined) return;
  const verdict = await authenticator?.refresh?.(identity);
  if (verdict === undefined) return;
  if ("principal" in verdict) {
    session.identity = verdict;
    return session.renewed?.();
  }
  // Refuses joins that wait for their turn already.
  session.identity = { ...identity, expiresAt: 0 };
  journal.write({
    event: "session_revoked",
    reason: verdict.refused,
    ...partyOf(session),
    ...seatOf(connection.held),
  });
  connection.depart(() => socket.conn.close());
}

/** Checks an identity again; `undefined` where it stays as it is. */
export type Refresh = NonNullable<Authenticator["refresh"]>;

/**
 * The requests of a gateway's clients that are not answered to their end. Streams can be open for
 * hours, so each ends with the credentials that it was opened with.
 */
export class OpenExchanges {
  readonly #open = new SwapList<OpenExchange>();
  readonly #limiter: RequestParts["limiter"];
  readonly #refresh: Refresh;
  readonly #rates: RequestRates;

  /** @param refresh checks an identity again */
  constructor(limiter: RequestParts["limiter"], refresh: Refresh) {
    this.#limiter = limiter;
    this.#refresh = refresh;
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
    kind?: RequestKind,
  ): ProtocolError | undefined {
    const client = principal ?? `address ${address}`;
    const taken = this.#rates.take(client, performance.now(), kind);
    if (typeof taken === "function") return void outgoing.on("close", taken);
    return this.#limiter.refuse(taken, {
      address,
      ...(principal !== undefined && { principal }),
    });
  }

  /**
   * Watches a request until its answer has ended.
   *
   * @param mayStay whether it goes on with other rights; by default with the same alone
   */
  add(
    outgoing: Outgoing,
    identity: Identity | undefined,
    mayStay: Exchange["mayStay"] = ({ policy }) =>
      JSON.stringify(policy) === JSON.stringify(identity?.policy),
  ): void {
    const open: OpenExchange = {
      outgoing,
      held: identity && exchange(outgoing, identity, mayStay),
    };
    this.#open.add(open);
    outgoing.on("close", () => {
      open.held?.prevent();
      this.#open.remove(open);
    });
  }

  /** Ends the requests of those whose credentials are not valid any more; resolves when they have ended. */
  async recheck(): Promise<void> {
    const ending: Outgoing[] = [];
    await recheckAll(
      this.#open.items.map(async (open) => {
        const { outgoing, held } = open;
        if (held === undefined) return;
        const verdict = await this.#refresh(held.identity);
        if (verdict === undefined || !this.#open.has(open)) return;
        if ("refused" in verdict || !held.mayStay(verdict)) {
          ending.push(outgoing);
          return void outgoing.destroy();
        }
        held.prevent();
        open.held = exchange(outgoing, verdict, held.mayStay);
      }),
    );
    await closed(ending);
  }

  /** Resolves when all have ended; those that have not after a second are ended. */
  ended(): Promise<void> {
    return closed(this.#open.items.map(({ outgoing }) => outgoing));
  }
}

/** A request whose answer has not ended. */
interface OpenExchange extends Placed {
  readonly outgoing: Outgoing;
  /** Absent without credentials. */
  held: Exchange | undefined;
}

/** A request with credentials. */
interface Exchange {
  readonly identity: Identity;
  /** Whether it goes on with other rights. */
  readonly mayStay: (identity: Identity) => boolean;
  /** Cancels its end at their expiry. */
  readonly prevent: () => void;
}

/** Ends a request at the expiry of the credentials that it was sent with, unless that is prevented. */
const exchange = (
  outgoing: Outgoing,
  identity: Identity,
  mayStay: Exchange["mayStay"],
): Exchange => ({
  identity,
  mayStay,
  prevent: atTime(identity.expiresAt ?? Infinity, () => outgoing.destroy()),
});
