import type { Authenticator } from "../auth/authenticator.ts";
import { seesAll, seesOffice } from "../shared/identity.ts";
import type { Policy } from "../shared/identity.ts";
import type { Journal } from "../shared/journal.ts";
import type { Seat } from "../shared/member.ts";
import type { PendingCall, Session } from "../shared/session.ts";
import { carriedBy } from "../wire/mod.ts";
import type { Answerers } from "./nodes/node_questions.ts";
import type { OperatedOffices } from "./operated.ts";
import { processOf, type ProcessView } from "./process.ts";
import {
  type CallView,
  callView,
  type MemberView,
  memberView,
  type OfficeView,
  officeViews,
} from "./views.ts";

/** The parts of a server that {@linkcode Here} needs. */
export interface HereParts {
  /** The offices of each protocol version, oldest first. */
  readonly logical: readonly OperatedOffices[];
  /** Refuses keys. */
  readonly authenticator: Authenticator | undefined;
  /** Notes what was changed. */
  readonly journal: Journal;
  /** Whether the server is shutting down. */
  draining(): boolean;
  /** Checks the credentials of all sessions and streams again. */
  recheck(): Promise<void>;
}

/** A member with a connection here. */
export interface Seated {
  readonly of: OperatedOffices;
  readonly session: Session;
  readonly seat: Seat;
}

/** What this node has, and does, for operators of whatever node. */
export class Here
  implements
    Pick<Answerers, "members" | "calls" | "cancel" | "bar" | "revoke"> {
  readonly #parts: HereParts;

  constructor(parts: HereParts) {
    this.#parts = parts;
  }

  /** The offices with members here that may be seen, and the process where all may be. */
  status(
    { policy }: { readonly policy: Policy },
    streams: number,
  ): { offices: OfficeView[]; process?: ProcessView } {
    const { logical, draining } = this.#parts;
    const offices = logical.flatMap(({ protocol, sessions }) =>
      officeViews(
        sessions.open(),
        protocol,
        (office) => seesOffice(policy, office),
      )
    );
    const isDraining = draining();
    return {
      offices,
      ...(seesAll(policy) &&
        { process: processOf(logical, streams, isDraining) }),
    };
  }

  /** The members of an office with a connection here. */
  members({ office }: { readonly office: string }): MemberView[] {
    return this.#seated().filter(({ seat }) => seat.office === office)
      .map(({ of: { protocol }, session, seat }) =>
        memberView(seat, session, carriedBy(session.socket.conn), protocol)
      );
  }

  /** The calls on their way of the Agents of an office here. */
  calls({ office }: { readonly office: string }): CallView[] {
    const now = performance.now();
    return this.#callsOf(office).map(({ of, session, seat, call }) =>
      callView(seat, session, call, of.protocol, now)
    );
  }

  /** Ends calls; returns how many. */
  cancel(
    { by, office, req_id, protocol, reason }: Parameters<
      Answerers["cancel"]
    >[0],
  ): number {
    const found = this.#callsOf(office).filter(({ of, call }) =>
      call.reqId === req_id && (protocol ?? of.protocol) === of.protocol
    );
    for (const { of, session, call } of found) {
      of.sessions.cancel(session, call, { by, reason });
    }
    return found.length;
  }

  /** Finds a member that may be seen. */
  find(id: string, policy: Policy): Seated | undefined {
    return this.#seated().find(({ seat }) =>
      seat.socket === id && seesOffice(policy, seat.office)
    );
  }

  /** Keeps a seat closed. */
  bar(
    { protocol, seat, reason, hold_ms: holdMs }: Parameters<
      Answerers["bar"]
    >[0],
  ): number {
    const of = this.#parts.logical.find((of) => of.protocol === protocol);
    of?.sessions.bar(seat, { reason, holdMs });
    return of ? 1 : 0;
  }

  /** Refuses a key; returns how many it knows. */
  async revoke(
    { by, principal, reason }: Parameters<Answerers["revoke"]>[0],
  ): Promise<number> {
    const { authenticator, journal, recheck } = this.#parts;
    if (authenticator?.revoke?.(principal) !== true) return 0;
    journal.write({ event: "key_revoked", by, reason, principal });
    await recheck();
    return 1;
  }

  #seated(): Seated[] {
    return this.#parts.logical.flatMap((of) =>
      [...of.sessions.open()].flatMap((session) =>
        session.member ? [{ of, session, seat: session.member }] : []
      )
    );
  }

  #callsOf(office: string): (Seated & { readonly call: PendingCall })[] {
    return this.#seated()
      .filter(({ seat }) => seat.office === office && seat.role === "agent")
      .flatMap((seated) =>
        seated.session.calls.map((call) => ({ ...seated, call }))
      );
  }
}
