import type { Authenticator } from "../auth/authenticator.ts";
import type { Journal } from "../shared/audit.ts";
import { type Policy, seesAll, seesOffice } from "../shared/identity.ts";
import { carriedBy } from "../wire/mod.ts";
import type { Answerers, Questions } from "./nodes/node_questions.ts";
import type { OperatedServer } from "./operated.ts";
import { processOf, type ProcessView } from "./process.ts";
import {
  type CallView,
  callView,
  type MemberView,
  memberView,
  type OfficeView,
  officeView,
} from "./views.ts";

/** The parts of a server that {@linkcode Here} needs. */
export interface HereParts extends OperatedServer {
  /** Refuses keys. */
  readonly authenticator: Authenticator | undefined;
  /** Notes what was changed. */
  readonly journal: Journal;
  /** Whether the server is shutting down. */
  draining(): boolean;
  /** Checks the credentials of all sessions and streams again. */
  recheck(): Promise<void>;
}

/** What this node has, and does, for operators of whatever node. */
export class Here
  implements
    Pick<Answerers, "members" | "calls" | "cancel" | "kick" | "revoke"> {
  readonly #parts: HereParts;

  constructor(parts: HereParts) {
    this.#parts = parts;
  }

  /** The offices here that the operator may see, and the process where it may see all. */
  status(
    { policy }: { readonly policy: Policy },
    streams: number,
  ): { offices: OfficeView[]; process?: ProcessView } {
    const { local, draining } = this.#parts;
    const seen = [...local].filter(({ name }) => seesOffice(policy, name));
    return {
      offices: seen.flatMap((office) => officeView(office) ?? []),
      ...(seesAll(policy) &&
        { process: processOf(this.#parts, streams, draining()) }),
    };
  }

  /** The members of an office here. */
  members({ office }: { readonly office: string }): MemberView[] {
    const { local, sessions } = this.#parts;
    const views = [];
    for (const member of local.find(office)?.members ?? []) {
      const { role, peer } = member;
      const session = sessions.open.get(peer.id);
      if (role === "operator") continue;
      const carried = session && carriedBy(session.socket.conn);
      views.push(memberView({ ...member, role }, carried));
    }
    return views;
  }

  /** The calls on their way in an office here, those of operators too. */
  calls({ office }: { readonly office: string }): CallView[] {
    const now = performance.now();
    const calls = this.#parts.local.find(office)?.calls ?? [];
    return calls.map((call) => callView(call, now));
  }

  /** Ends calls; returns how many. */
  cancel(
    { by, office, req_id, reason }: Questions["cancel"],
  ): number {
    const found = this.#parts.local.find(office);
    const calls = found?.calls.filter(({ reqId }) => reqId === req_id) ?? [];
    for (const call of calls) found?.cancel(call, { by, reason });
    return calls.length;
  }

  /** Kicks a member of an office that the operator may see; returns how many. */
  kick({ id, policy, by, reason, hold_ms }: Questions["kick"]): number {
    const { local } = this.#parts;
    const found = local.findMember(id);
    if (found === undefined || !seesOffice(policy, found.office.name)) return 0;
    local.kick(found, { by, reason, holdMs: hold_ms });
    return 1;
  }

  /** Refuses a key; returns how many it knows. */
  async revoke(
    { by, principal, reason }: Questions["revoke"],
  ): Promise<number> {
    const { authenticator, journal, recheck } = this.#parts;
    if (authenticator?.revoke?.(principal) !== true) return 0;
    journal.write({ event: "key_revoked", by, reason, principal });
    await recheck();
    return 1;
  }
}
