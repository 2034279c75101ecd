/**
 * The views and changes of operators, on all nodes of a cluster: the answers of this node, those of the
 * others, and at the end the views of offices, members and calls in the terms of the API.
 *
 * @module
 */
import type * as z from "../../protocol/schema.ts";
import process from "node:process";
import type {
  ClientEvent,
  ClientEvents,
  ProtocolName,
} from "../../protocol/mod.ts";
import type { RequestParts } from "../http/gate.ts";
import type { GrantView, SignIn } from "../doors/sign_in.ts";
import type { SmcpServerStats } from "../observe/metrics.ts";
import type { Call } from "../office/call.ts";
import { agentName, type Member } from "../office/members.ts";
import type { LocalOffices, Office } from "../office/office.ts";
import { ask, type QuestionParts, type Target } from "./ask.ts";
import type { EventFeed } from "./event_feed.ts";
import type { EventTap } from "./event_pages.ts";
import {
  type Answerers,
  answerNodes,
  askNodes,
  type NodeAnswers,
  type Questions,
} from "./nodes.ts";
import type { OtherNodes } from "../shared/cluster.ts";
import type * as schemas from "./schemas.ts";
import type { Journal } from "../shared/audit.ts";
import {
  type Identity,
  type Policy,
  seesAll,
  seesOffice,
} from "../shared/identity.ts";
import type { ClientSocket } from "../wire/mod.ts";
import {
  invalidFields,
  type ProblemError,
  problemOf,
  retryLater,
} from "../../shared/http.ts";

/** An operator: the principal for the audit log, and the policy with the offices that it may see. */
export interface Operator extends Identity {
  readonly policy: Policy;
}

/** The parts of a server that {@linkcode OperatorApi} needs. */
export interface ApiParts
  extends Pick<RequestParts, "authenticator" | "cluster" | "draining"> {
  /** The version of this package. */
  readonly version: string;
  /** The versions of the protocol that it accepts, oldest first. */
  readonly protocols: readonly ProtocolName[];
  /** When the Server was made, in milliseconds since 1970. */
  readonly since: number;
  /** The offices whose home is here. */
  readonly local: LocalOffices;
  /** The Socket.IO sessions by their ids. */
  readonly sessions: {
    readonly open: ReadonlyMap<string, { readonly socket: ClientSocket }>;
  };
  /** The parts for questions to Computers. */
  readonly questions: QuestionParts;
  /** The other nodes; none without a cluster. */
  readonly others: OtherNodes;
  /** Logs changes. */
  readonly journal: Journal;
  /** Has the open streams of events. */
  readonly feed: EventFeed;
  /** Has the events of this node for others. */
  readonly tap: EventTap;
  /** Has the grants of programs, of all nodes; absent where sign-in is off. */
  readonly signIns?:
    | Pick<SignIn, "url" | "grants" | "end" | "revoke">
    | undefined;
  /** Returns current counts. */
  stats(): SmcpServerStats;
  /** Checks the credentials of all sessions and streams again. */
  recheck(): Promise<void>;
}

/** The most calls of all offices that are listed. */
const MAX_LISTED_CALLS = 1000;

/** The answers of this node for operators of any node. */
const localAnswerers = (
  { local, sessions: { open }, feed, tap, ...server }: ApiParts,
): Answerers => ({
  status: ({ policy }) => {
    const offices = [...local].filter(({ name }) => seesOffice(policy, name))
      .flatMap(officeView);
    if (!seesAll(policy)) return { offices };
    const { rss, heapUsed } = process.memoryUsage();
    return {
      offices,
      process: {
        draining: server.draining(),
        connections: server.stats().connections,
        calls: local.sentCalls,
        streams: feed.streams,
        queued_bytes: sum(
          [...open.values()],
          ({ socket }) => socket.conn.carried?.()?.queued ?? 0,
        ),
        memory_bytes: rss,
        heap_bytes: heapUsed,
      },
    };
  },
  members: ({ office }) =>
    local.find(office)?.members.flatMap((member) =>
      memberView(member, open.get(member.peer.id)?.socket)
    ) ?? [],
  calls: ({ office }) => {
    const now = performance.now();
    return local.find(office)?.calls.map((call) => callView(call, now)) ?? [];
  },
  all_calls: ({ policy }) => {
    const now = performance.now();
    return [...local].filter(({ name }) => seesOffice(policy, name))
      .flatMap(({ calls }) => calls)
      .sort((a, b) => a.began - b.began)
      .slice(0, MAX_LISTED_CALLS)
      .map((call) => callView(call, now));
  },
  cancel: ({ by, office, req_id, reason }) => {
    const found = local.find(office);
    const calls = found?.calls.filter(({ reqId }) => reqId === req_id) ?? [];
    for (const call of calls) found?.cancel(call, { by, reason });
    return calls.length;
  },
  kick: ({ id, policy, by, reason, hold_ms }) => {
    const found = local.findMember(id);
    if (found === undefined || !seesOffice(policy, found.office)) return 0;
    local.kick(found, { by, reason, holdMs: hold_ms });
    return 1;
  },
  revoke: (order) => revoke(order, server),
  events: ({ cursor }) => tap.take(cursor),
});

/** Revokes a key, the holder of tokens, or a person of a sign-in; returns how many there are of it. */
async function revoke(
  { by, principal, reason }: Parameters<Answerers["revoke"]>[0],
  { authenticator, signIns, journal, recheck }: Pick<
    ApiParts,
    "authenticator" | "signIns" | "journal" | "recheck"
  >,
): Promise<number> {
  const isKey = authenticator?.revoke?.(principal) === true;
  const isPerson = await signIns?.revoke(principal, { by, reason }) === true;
  if (!isKey && !isPerson) return 0;
  journal.write({ event: "key_revoked", by, reason, principal });
  await recheck();
  return 1;
}

/** The problem of a change without a target: field, problem and fix. */
const NOT_FOUND = {
  cancel: [
    "req_id",
    "no pending call has it",
    "take it from the office's calls; it may have ended meanwhile",
  ],
  kick: ["id", "no member has it", "take the id from the office's members"],
  revoke: [
    "principal",
    "no key has it",
    'give "key:" and the id of an API key, "jwt:" and the sub of tokens, or the principal of a sign-in',
  ],
} as const;

/** A question that changes something; the answer is the number of its targets. */
type Change = keyof typeof NOT_FOUND;

/**
 * The views and changes of operators, on all nodes; of offices that one may not see, it does not show
 * whether they exist.
 */
export class OperatorApi {
  readonly #parts: ApiParts;
  readonly #here: Answerers;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#here = localAnswerers(parts);
    answerNodes(parts.others, this.#here);
  }

  /** Counts what an operator may see; processes are shown to operators of all offices alone. */
  async status(operator: Operator): Promise<z.infer<typeof schemas.status>> {
    const { version, since, protocols, signIns } = this.#parts;
    const { about, offices, process, others } = await this.#look(operator);
    return {
      ...about,
      version,
      protocols: [...protocols],
      since: iso(since),
      offices: offices.length,
      members: sum(
        offices,
        ({ agent, computers }) => computers + (agent === null ? 0 : 1),
      ),
      pending_calls: sum(offices, ({ pending_calls }) => pending_calls),
      ...(signIns && { sign_in: true }),
      ...(process && { process }),
      ...(process && others.size > 0 && {
        nodes: [...others].flatMap(([node, { process }]) =>
          process ? [{ node, process }] : []
        ),
      }),
    };
  }

  /** Lists the offices. */
  async offices(
    operator: Operator,
  ): Promise<z.infer<typeof schemas.offices>> {
    const { about, offices } = await this.#look(operator);
    return { ...about, offices };
  }

  /**
   * Lists the members of an office, or its pending calls, those of operators too.
   *
   * @throws {ProblemError} 404
   */
  async list(kind: "members" | "calls", operator: Operator, office: string) {
    checkOffice(operator, office);
    const others = await askNodes(this.#parts.others, kind, { office });
    const own = await this.#here[kind]({ office }) ?? [];
    const list = [own, ...others.answers.values()].flat();
    const isUnknown = list.length === 0 && !others.missing.unanswered;
    if (kind === "members" && isUnknown) throw noOffice(office);
    return { ...this.#about(others), [kind]: list };
  }

  /** Lists the pending calls of all offices that an operator may see, the oldest first, at most 1,000. */
  async allCalls(
    { policy }: Operator,
  ): Promise<z.infer<typeof schemas.allCalls>> {
    const question = { policy };
    const others = await askNodes(this.#parts.others, "all_calls", question);
    const own = await this.#here.all_calls(question) ?? [];
    const calls = [own, ...others.answers.values()].flat()
      .sort((a, b) => b.ms - a.ms)
      .slice(0, MAX_LISTED_CALLS);
    return {
      ...this.#about(others),
      calls,
      ...(calls.length === MAX_LISTED_CALLS && { partial: true }),
    };
  }

  /**
   * Sends a Computer a request that an Agent could send.
   *
   * @throws {ProblemError} 403, 404, 502, 503, 504
   */
  async ask<E extends ClientEvent>(
    operator: Operator,
    target: Target,
    event: E,
    request: Readonly<Record<string, unknown>> = {},
  ): Promise<ClientEvents[E]["answer"]> {
    checkOffice(operator, target.office);
    const question = { ...target, by: operator.principal, event, request };
    return await ask(question, this.#parts.questions);
  }

  /**
   * Changes something here and on other nodes. One node has a member or a call: once it is found, other
   * nodes need not answer.
   *
   * @throws {ProblemError} 403, 404, or 503 where a node that did not answer may have it
   */
  async change<K extends Change>(
    kind: K,
    operator: Operator,
    question: Questions[K],
  ): Promise<z.infer<typeof schemas.done>> {
    if ("office" in question) checkOffice(operator, question.office);
    if (kind === "revoke" && !seesAll(operator.policy)) {
      throw problemOf(
        403,
        "principal",
        "the key may be used in offices that you may not see",
        "ask an operator of all offices",
      );
    }
    const own = this.#here[kind](question);
    const isOfOne = kind !== "revoke";
    const [count = 0, others] = await Promise.all([
      own,
      isOfOne && own !== 0
        ? undefined
        : askNodes(this.#parts.others, kind, question),
    ]);
    const counts = [...others?.answers.values() ?? []];
    const done = count + sum(counts, (count) => count);
    if (done > 0) return { ...this.#about(isOfOne ? undefined : others), done };
    const { unanswered } = others?.missing ?? {};
    if (unanswered) {
      throw retryLater(
        "server",
        `nodes of the cluster did not answer: ${unanswered.join(", ")}`,
      );
    }
    const [field, problem, fix] = NOT_FOUND[kind];
    throw problemOf(404, field, problem, fix);
  }

  /**
   * Lists the grants in the offices that an operator may see, the newest first. All nodes have the same.
   *
   * @param which those that are listed; default all
   * @throws {ProblemError} 404 where sign-in is off
   */
  async grants(
    operator: Operator,
    which: GrantFilter,
  ): Promise<z.infer<typeof schemas.grants>> {
    const signIns = this.#signIns();
    const url = signIns.url();
    const grants = await signIns.grants();
    return {
      ...this.#about(),
      ...(url !== undefined && { url }),
      grants: grants.filter(grantsOf(operator, which)),
    };
  }

  /**
   * Ends grants in the offices that an operator may see: their programs have to sign in again.
   *
   * @param which one field, which names those that end
   * @throws {ProblemError} 404 where none ended, or sign-in is off
   */
  async endGrants(
    operator: Operator,
    { reason, ...which }: z.infer<typeof schemas.endGrants>,
  ): Promise<z.infer<typeof schemas.ended>> {
    const order = { by: operator.principal, reason };
    const ended = await this.#signIns().end(order, grantsOf(operator, which));
    if (ended.length > 0) return { ...this.#about(), ended };
    const [field = "id"] = Object.keys(which);
    throw problemOf(
      404,
      field,
      "no sign-in has it, or you may not see its office",
      "take it from the list of grants; it may have ended meanwhile",
    );
  }

  #signIns() {
    const { signIns } = this.#parts;
    if (signIns) return signIns;
    throw problemOf(
      404,
      "sign-in",
      "it is off on this Server",
      "start the Server with --sign-in",
    );
  }

  /** Returns all that an operator may see, of this node and others. */
  async #look({ policy }: Operator) {
    const own = await this.#here.status({ policy });
    const others = await askNodes(this.#parts.others, "status", { policy });
    const about = this.#about(others);
    const views = [[about.node, own] as const, ...others.answers]
      .flatMap(([node, answer]) =>
        answer?.offices.map((view) => ({ ...view, ...(node && { node }) })) ??
          []
      );
    const offices = byName(views);
    return { about, offices, process: own?.process, others: others.answers };
  }

  /** Names the node that answers, in a cluster, and those of which nothing is known. */
  #about(others?: Pick<NodeAnswers<"status">, "missing">) {
    // A node that has not joined has no name.
    const node = this.#parts.cluster?.status().node;
    return { ...(node && { node }), ...others?.missing };
  }
}

/** @throws {ProblemError} 404, as if there were no such office */
function checkOffice({ policy }: Operator, office: string): void {
  if (!seesOffice(policy, office)) throw noOffice(office);
}

/** Some grants: those that have all of these fields. */
export type GrantFilter = Pick<
  z.infer<typeof schemas.endGrants>,
  "id" | "principal" | "office"
>;

/** Makes the function that selects those that an operator may see, and of them those of a filter. */
const grantsOf =
  ({ policy }: Operator, { id, principal, office }: GrantFilter) =>
  (grant: GrantView): boolean =>
    seesOffice(policy, grant.office) &&
    (id === undefined || id === grant.id) &&
    (principal === undefined || principal === grant.principal) &&
    (office === undefined || office === grant.office);

/** An office that moves may be shown by two nodes for a moment. */
const byName = (views: readonly OfficeView[]): OfficeView[] =>
  [...new Map(views.map((view) => [view.office, view])).values()]
    .sort((a, b) => a.office < b.office ? -1 : 1);

const sum = <T>(list: readonly T[], of: (each: T) => number): number =>
  list.reduce((all, each) => all + of(each), 0);

const noOffice = (office: string) =>
  problemOf(
    404,
    "office",
    `${JSON.stringify(office)} has no members, or you may not see it`,
    "take one from the list of offices",
  );

/** Converts the error of a schema. */
export const invalid = (error: z.core.$ZodError, what: string): ProblemError =>
  invalidFields(error, what, "see /operator/v1/openapi.json");

/** An office. */
export type OfficeView = z.infer<typeof schemas.office>;

/** Shows an office; nothing of one in which only operators are. */
function officeView(
  { name: office, members, calls }: Office,
): OfficeView[] {
  if (members.length === 0) return [];
  const agent = members.find(({ role }) => role === "agent");
  return [{
    office,
    agent: agent?.name ?? null,
    computers: members.length - (agent ? 1 : 0),
    pending_calls: calls.length,
  }];
}

/** Shows a member, with the bytes of its WebSocket if that is here; nothing of an operator. */
function memberView(
  { peer, office, role, name, record, calls }: Member,
  socket: ClientSocket | undefined,
): z.infer<typeof schemas.member>[] {
  if (role === "operator" || role === "device") return [];
  const { id, version, identity, address } = peer;
  const { lastError, joinedAt } = record;
  const bytes = socket?.conn.carried?.();
  return [{
    id,
    office,
    role,
    name,
    version,
    ...(identity && { principal: identity.principal }),
    address,
    since: iso(joinedAt),
    calls: record.calls,
    pending_calls: calls.length,
    ...(bytes && { bytes: { ...bytes } }),
    ...(lastError && { last_error: { ...lastError, at: iso(lastError.at) } }),
  }];
}

const iso = (at: number): string => new Date(at).toISOString();

/**
 * Shows a call, of an operator too.
 *
 * @param now milliseconds of a monotonic clock
 */
function callView(call: Call, now: number): z.infer<typeof schemas.call> {
  const { agent, computer, reqId, event, tool, began, waiting } = call;
  const { office, peer: { identity } } = agent;
  return {
    office,
    agent: agentName(agent),
    computer: computer.name,
    req_id: reqId,
    request: event,
    ...(tool !== undefined && { tool }),
    ...(identity && { principal: identity.principal }),
    ...(waiting !== undefined && {
      waiting,
      waiting_ms: Math.max(0, Math.round(now - call.waitingSince)),
    }),
    ms: Math.round(now - began),
  };
}
