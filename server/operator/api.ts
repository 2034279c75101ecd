import type { z } from "zod";
import type { ClientEvent, ClientEvents } from "../../protocol/mod.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { seesAll, seesOffice } from "../auth/policy.ts";
import type { Seat } from "../shared/member.ts";
import type { PendingCall, Session } from "../shared/session.ts";
import type { Journal } from "../shared/journal.ts";
import { carriedBy } from "../wire/mod.ts";
import { ask, type Asked } from "./ask.ts";
import { problemOf } from "./problem.ts";
import type { OperatedOffices, Operator } from "./operated.ts";
import type {
  callsSchema,
  cancelSchema,
  doneSchema,
  kickSchema,
  membersSchema,
  officesSchema,
  revokeSchema,
} from "./schemas.ts";
import { callView, memberView, officeViews, strangerView } from "./views.ts";

/** The parts of a server that {@linkcode OperatorApi} needs. */
export interface ApiParts {
  /** The offices of each protocol version, oldest first. */
  readonly logical: readonly OperatedOffices[];
  /** Refuses keys. */
  readonly authenticator: Authenticator | undefined;
  /** Notes what was changed. */
  readonly journal: Journal;
  /** Checks the credentials of all sessions and streams again. */
  recheck(): Promise<void>;
}

/** What operators see and do; of offices that one does not see, it does not learn whether they exist. */
export class OperatorApi {
  readonly #parts: ApiParts;

  constructor(parts: ApiParts) {
    this.#parts = parts;
  }

  /** Names the node that answers, in a cluster. */
  get node(): { node?: string } {
    const node = this.#parts.logical[0]?.sessions.node;
    return node ? { node } : {}; // one that has not joined has no name
  }

  /** Lists the offices with members here. */
  offices({ policy }: Operator): z.infer<typeof officesSchema> {
    const offices = this.#parts.logical.flatMap(({ protocol, sessions }) =>
      officeViews(
        sessions.open(),
        protocol,
        (office) => seesOffice(policy, office),
      )
    );
    return { ...this.node, offices };
  }

  /**
   * Lists the members of an office; those of other nodes by the registry.
   *
   * @throws {ProblemError} 404
   */
  async members(
    operator: Operator,
    office: string,
  ): Promise<z.infer<typeof membersSchema>> {
    this.#check(operator, office);
    const members = [];
    for (const { protocol, sessions } of this.#parts.logical) {
      const here = new Map(
        seated(sessions.open()).map(([session, seat]) => [
          seat.socket,
          session,
        ]),
      );
      for (const seat of await sessions.list(office)) {
        const session = here.get(seat.socket);
        const { member } = session ?? {};
        members.push(
          session && member
            ? memberView(
              member,
              session,
              carriedBy(session.socket.conn),
              protocol,
            )
            : {
              ...strangerView(seat, protocol),
              ...(seat.node !== undefined && { node: seat.node }),
            },
        );
      }
    }
    if (members.length === 0) throw noOffice(office);
    return { ...this.node, members };
  }

  /**
   * Lists the calls on their way of the Agents of an office here.
   *
   * @throws {ProblemError} 404
   */
  calls(operator: Operator, office: string): z.infer<typeof callsSchema> {
    this.#check(operator, office);
    const now = performance.now();
    const calls = this.#callsOf(office).map(({ of, session, seat, call }) =>
      callView(seat, session, call, of.protocol, now)
    );
    return { ...this.node, calls };
  }

  /**
   * Asks a Computer what an Agent could.
   *
   * @throws {ProblemError} 403, 404, 409, 502, 503, 504
   */
  async ask<E extends ClientEvent>(
    operator: Operator,
    asked: Asked,
    event: E,
    request: Readonly<Record<string, unknown>> = {},
  ): Promise<ClientEvents[E]["answer"]> {
    this.#check(operator, asked.office);
    return await ask(this.#parts.logical, operator, asked, event, request);
  }

  /**
   * Puts a member out.
   *
   * @throws {ProblemError} 404, 409 where it is on another node
   */
  async kick(
    operator: Operator,
    id: string,
    { reason, hold_ms: holdMs }: z.output<typeof kickSchema>,
  ): Promise<z.infer<typeof doneSchema>> {
    for (const { sessions } of this.#parts.logical) {
      for (const [session, seat] of seated(sessions.open())) {
        if (seat.socket !== id || !seesOffice(operator.policy, seat.office)) {
          continue;
        }
        const { by } = operator;
        await sessions.putOut(session, seat, { by, reason, holdMs });
        return { ...this.node, done: 1 };
      }
    }
    throw problemOf(
      404,
      "id",
      "no member with a connection here has it",
      "take the id from the office's members; of a member with a node, ask that node",
    );
  }

  /**
   * Cancels a call of the Agent of an office.
   *
   * @throws {ProblemError} 404
   */
  cancel(
    operator: Operator,
    office: string,
    { req_id, protocol, reason }: z.output<typeof cancelSchema>,
  ): z.infer<typeof doneSchema> {
    this.#check(operator, office);
    const found = this.#callsOf(office).filter(({ of, call }) =>
      call.reqId === req_id && (protocol ?? of.protocol) === of.protocol
    );
    if (found.length === 0) {
      throw problemOf(
        404,
        "req_id",
        "no call on its way has it",
        "take it from the office's calls; it may have ended meanwhile",
      );
    }
    const { by } = operator;
    for (const { of, session, call } of found) {
      of.sessions.cancel(session, call, { by, reason });
    }
    return { ...this.node, done: found.length };
  }

  /**
   * Refuses the holder of a key, and ends its sessions.
   *
   * @throws {ProblemError} 403, 404
   */
  async revoke(
    { by, policy }: Operator,
    { principal, reason }: z.output<typeof revokeSchema>,
  ): Promise<z.infer<typeof doneSchema>> {
    if (!seesAll(policy)) {
      throw problemOf(
        403,
        "principal",
        "a key may be used in offices that you do not see",
        "ask an operator of all offices",
      );
    }
    const { authenticator, journal, recheck } = this.#parts;
    if (authenticator?.revoke?.(principal) !== true) {
      throw problemOf(
        404,
        "principal",
        "no key has it",
        'give "key:" and the id of an API key, or "jwt:" and the sub of tokens',
      );
    }
    journal.write({ event: "key_revoked", by, reason, principal });
    await recheck();
    return { ...this.node, done: 1 };
  }

  /** @throws {ProblemError} 404, as if there were no such office */
  #check({ policy }: Operator, office: string): void {
    if (!seesOffice(policy, office)) throw noOffice(office);
  }

  #callsOf(office: string): {
    readonly of: OperatedOffices;
    readonly session: Session;
    readonly seat: Seat;
    readonly call: PendingCall;
  }[] {
    return this.#parts.logical.flatMap((of) =>
      seated(of.sessions.open())
        .filter(([, seat]) => seat.office === office && seat.role === "agent")
        .flatMap(([session, seat]) =>
          session.calls.map((call) => ({ of, session, seat, call }))
        )
    );
  }
}

const seated = (sessions: Iterable<Session>): [Session, Seat][] =>
  [...sessions].flatMap((session) =>
    session.member ? [[session, session.member]] : []
  );

const noOffice = (office: string) =>
  problemOf(
    404,
    "office",
    `nobody is in ${JSON.stringify(office)}, or you may not see it`,
    "take one from the list of offices",
  );
