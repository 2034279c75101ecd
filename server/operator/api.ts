import type { Socket } from "socket.io";
import type { z } from "zod";
import type { QuestionParts } from "../doors/question.ts";
import type { LocalOffices } from "../office/offices.ts";
import type {
  ClientEvent,
  ClientEvents,
  ProtocolName,
} from "../../protocol/mod.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import { type Policy, seesAll, seesOffice } from "../shared/identity.ts";
import type { SmcpServerStats } from "../observe/metrics.ts";
import { ask, type Asked } from "./ask.ts";
import { Here, type HereParts, type OfficeView } from "./here.ts";
import type { NodeQuestion, OtherOperators, Told } from "./nodes.ts";
import type {
  callsSchema,
  cancelSchema,
  doneSchema,
  kickSchema,
  membersSchema,
  officesSchema,
  revokeSchema,
  statusSchema,
} from "./schemas.ts";
import { invalidFields } from "../../shared/http/invalid.ts";
import {
  type ProblemError,
  problemOf,
  retryLater,
} from "../../shared/http/problem.ts";

/** Who looks at a Server and changes things. */
export interface Operator {
  /** Names it in the audit log. */
  readonly by: string;
  /** Which offices it sees. */
  readonly policy: Policy;
}

/** What operators see of a server. */
export interface OperatedServer {
  /** The versions that it lets in, oldest first. */
  readonly protocols: readonly ProtocolName[];
  /** The offices whose home is here. */
  readonly local: LocalOffices;
  /** The Socket.IO sessions by their ids. */
  readonly sessions: {
    readonly open: ReadonlyMap<string, { readonly socket: Socket }>;
  };
  /** What questions to Computers work with. */
  readonly questions: QuestionParts;
  /** The node that it is in a cluster. */
  readonly cluster: ClusterMember | undefined;
  /** Returns current counts. */
  stats(): SmcpServerStats;
}

/** The parts of a server that {@linkcode OperatorApi} needs. */
export interface ApiParts extends HereParts {
  /** The version of this package. */
  readonly version: string;
  /** When the Server was made, in milliseconds since 1970. */
  readonly since: number;
  /** The other nodes, in a cluster. */
  readonly others: OtherOperators;
  /** Returns the number of open streams of events. */
  streams(): number;
}

/**
 * What operators see and do, on all nodes; of offices that one does not see, it does not learn whether
 * they exist.
 */
export class OperatorApi {
  /** What this node has, and does. */
  readonly here: Here;
  readonly #parts: ApiParts;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.here = new Here(parts);
  }

  /** Counts what an operator sees; of processes it tells operators of all offices alone. */
  async status(operator: Operator): Promise<z.infer<typeof statusSchema>> {
    const { version, since, protocols } = this.#parts;
    const { offices, process, told } = await this.#look(operator);
    return {
      ...this.#answering(told),
      version,
      protocols: [...protocols],
      since: new Date(since).toISOString(),
      offices: offices.length,
      members: sum(
        offices,
        ({ agent, computers }) => computers + (agent === null ? 0 : 1),
      ),
      pending_calls: sum(offices, ({ pending_calls }) => pending_calls),
      ...(process && { process }),
      ...(process && told.answers.size > 0 && {
        nodes: [...told.answers].flatMap(([node, { process }]) =>
          process ? [{ node, process }] : []
        ),
      }),
    };
  }

  /** Lists the offices. */
  async offices(operator: Operator): Promise<z.infer<typeof officesSchema>> {
    const { offices, told } = await this.#look(operator);
    return { ...this.#answering(told), offices };
  }

  /**
   * Lists the members of an office.
   *
   * @throws {ProblemError} 404
   */
  async members(
    operator: Operator,
    office: string,
  ): Promise<z.infer<typeof membersSchema>> {
    this.#check(operator, office);
    const told = await this.#parts.others.askAll("members", { office });
    const members = [
      ...this.here.members({ office }),
      ...[...told.answers.values()].flat(),
    ];
    if (members.length === 0 && told.unanswered.length === 0) {
      throw noOffice(office);
    }
    return { ...this.#answering(told), members };
  }

  /**
   * Lists the calls on their way in an office, those of operators too.
   *
   * @throws {ProblemError} 404
   */
  async calls(
    operator: Operator,
    office: string,
  ): Promise<z.infer<typeof callsSchema>> {
    this.#check(operator, office);
    const told = await this.#parts.others.askAll("calls", { office });
    const calls = [
      ...this.here.calls({ office }),
      ...told.answers.values().flatMap((calls) => calls),
    ];
    return { ...this.#answering(told), calls };
  }

  /**
   * Asks a Computer what an Agent could.
   *
   * @throws {ProblemError} 403, 404, 502, 503, 504
   */
  async ask<E extends ClientEvent>(
    operator: Operator,
    asked: Asked,
    event: E,
    request: Readonly<Record<string, unknown>> = {},
  ): Promise<ClientEvents[E]["answer"]> {
    this.#check(operator, asked.office);
    const { questions } = this.#parts;
    return await ask({ ...asked, by: operator.by, event, request }, questions);
  }

  /**
   * Kicks a member, wherever its office has its home.
   *
   * @throws {ProblemError} 404, 503
   */
  async kick(
    { by, policy }: Operator,
    id: string,
    order: z.output<typeof kickSchema>,
  ): Promise<z.infer<typeof doneSchema>> {
    const kick = { ...order, ...seenBy(policy), by, id };
    const here = this.here.kick(kick);
    const told = here > 0
      ? NOTHING_ASKED
      : await this.#parts.others.askAll("kick", kick);
    const done = here + sum([...told.answers.values()], (count) => count);
    return this.#done(done, done > 0 ? NOTHING_ASKED : told, () =>
      problemOf(
        404,
        "id",
        "no member has it",
        "take the id from the office's members",
      ));
  }

  /**
   * Cancels a call in an office.
   *
   * @throws {ProblemError} 404, 503
   */
  async cancel(
    operator: Operator,
    office: string,
    order: z.output<typeof cancelSchema>,
  ): Promise<z.infer<typeof doneSchema>> {
    this.#check(operator, office);
    const cancel = { ...order, by: operator.by, office };
    const here = this.here.cancel(cancel);
    const told = await this.#parts.others.askAll("cancel", cancel);
    const done = here + sum([...told.answers.values()], (count) => count);
    return this.#done(done, done > 0 ? NOTHING_ASKED : told, () =>
      problemOf(
        404,
        "req_id",
        "no call on its way has it",
        "take it from the office's calls; it may have ended meanwhile",
      ));
  }

  /**
   * Refuses the holder of a key, and ends its sessions, on all nodes that answer.
   *
   * @throws {ProblemError} 403, 404, 503
   */
  async revoke(
    { by, policy }: Operator,
    order: z.output<typeof revokeSchema>,
  ): Promise<z.infer<typeof doneSchema>> {
    if (!seesAll(policy)) {
      throw problemOf(
        403,
        "principal",
        "a key may be used in offices that you do not see",
        "ask an operator of all offices",
      );
    }
    const revoke = { ...order, by };
    const [here, told] = await Promise.all([
      this.here.revoke(revoke),
      this.#parts.others.askAll("revoke", revoke),
    ]);
    const done = here + sum([...told.answers.values()], (count) => count);
    return this.#done(done, told, () =>
      problemOf(
        404,
        "principal",
        "no key has it",
        'give "key:" and the id of an API key, or "jwt:" and the sub of tokens',
      ));
  }

  async #look({ policy }: Operator) {
    const { others, streams } = this.#parts;
    const seen = seenBy(policy);
    const { offices, process } = this.here.status(seen, streams());
    const told = await others.askAll("status", seen);
    const there = [...told.answers].flatMap(([node, { offices }]) =>
      offices.map((view) => ({ ...view, node }))
    );
    const { node } = this.#answering(told);
    const here = offices.map((view) => ({ ...view, ...(node && { node }) }));
    return { offices: byName([...here, ...there]), process, told };
  }

  /** @throws {ProblemError} 404, as if there were no such office */
  #check({ policy }: Operator, office: string): void {
    if (!seesOffice(policy, office)) throw noOffice(office);
  }

  /** Says which node answers, in a cluster, and of which nothing is known. */
  #answering(
    { unanswered, notOperated }: Missing,
  ): { node?: string; unanswered?: string[]; not_operated?: string[] } {
    const node = this.#parts.cluster?.status().node;
    return {
      ...(node && { node }), // one that has not joined has no name
      ...(unanswered.length > 0 && { unanswered: [...unanswered] }),
      ...(notOperated.length > 0 && { not_operated: [...notOperated] }),
    };
  }

  /** @throws {ProblemError} what `none` returns, or 503 where a node that did not answer may have it */
  #done(
    done: number,
    missing: Missing,
    none?: () => Error,
  ): z.infer<typeof doneSchema> {
    const { unanswered } = missing;
    if (done > 0) return { ...this.#answering(missing), done };
    if (unanswered.length === 0 && none) throw none();
    throw retryLater(
      "server",
      `nodes of the cluster did not answer: ${unanswered.join(", ")}`,
    );
  }
}

/** The nodes of which nothing is known. */
type Missing = Pick<Told<NodeQuestion>, "unanswered" | "notOperated">;

const NOTHING_ASKED: Told<never> = {
  answers: new Map<string, never>(),
  unanswered: [],
  notOperated: [],
};

/** What other nodes have to know of a policy. */
const seenBy = (
  { offices }: Policy,
): { policy: { offices?: readonly string[] } } => ({
  policy: { ...(offices && { offices }) },
});

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
    `nobody is in ${JSON.stringify(office)}, or you may not see it`,
    "take one from the list of offices",
  );

/** Converts what a schema refused. */
export const invalid = (error: z.ZodError, what: string): ProblemError =>
  invalidFields(error, what, "give what /operator/v1/openapi.json says of it");
