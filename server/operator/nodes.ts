/**
 * The questions between nodes of a cluster for operators: the table of questions with the schemas of both
 * sides, asking one node and all, and following the events of the others.
 *
 * @module
 */
import type { OtherNodes } from "../shared/cluster.ts";
import * as schemas from "./schemas.ts";
import * as z from "../../protocol/schema.ts";
import { sleep } from "../../shared/async.ts";
import type { FollowOthers, OtherEvents } from "./event_feed.ts";

const policy = z.object({
  offices: z.exactOptional(z.readonly(z.array(z.string()))),
});
const by = z.string();
const office = z.string();
const count = z.int().check(z.minimum(0));

/** The questions between nodes, each with its answer. */
const NODE_QUESTIONS = {
  /** The offices whose home is there that may be seen, and its process where all may be. */
  status: {
    question: z.object({ policy }),
    answer: z.object({
      offices: z.array(schemas.office),
      process: z.exactOptional(schemas.process),
    }),
  },
  /** The members of an office whose home is there. */
  members: { question: z.object({ office }), answer: z.array(schemas.member) },
  /** The pending calls of an office whose home is there. */
  calls: { question: z.object({ office }), answer: z.array(schemas.call) },
  /** The longest pending calls of the offices whose home is there that may be seen. */
  all_calls: {
    question: z.object({ policy }),
    answer: z.array(schemas.call),
  },
  /** Ends calls; answers how many. */
  cancel: { question: z.extend(schemas.cancel, { by, office }), answer: count },
  /** Kicks a member, if the home of its office is there; answers how many. */
  kick: {
    question: z.extend(schemas.kick, { by, policy, id: z.string() }),
    answer: count,
  },
  /** Refuses a key; answers how many it has. */
  revoke: { question: z.extend(schemas.revoke, { by }), answer: count },
  /** The events there since a cursor, or from now on; waits for the next for a while. */
  events: {
    question: z.object({ cursor: z.exactOptional(z.string()) }),
    answer: z.object({
      cursor: z.string(),
      missed: z.boolean(),
      events: z.array(z.object({
        office: z.optional(office),
        kind: z.string(),
        json: z.string(),
      })),
    }),
  },
};

/** A kind of question. */
type NodeQuestion = keyof typeof NODE_QUESTIONS;

/** The questions of each kind. */
export type Questions = {
  [K in NodeQuestion]: z.output<typeof NODE_QUESTIONS[K]["question"]>;
};

/** The answers of each kind. */
export type Answers = {
  [K in NodeQuestion]: z.output<typeof NODE_QUESTIONS[K]["answer"]>;
};

/** Answers each kind of question; `undefined` is no answer. */
export type Answerers = {
  readonly [K in NodeQuestion]: (
    question: Questions[K],
  ) => Answers[K] | Promise<Answers[K] | undefined>;
};

/** How long a node has to answer. */
const TIMEOUT_MS = 3000;
/** The same where the node waits for events itself. */
const LONGER_MS: Partial<Record<NodeQuestion, number>> = { events: 20_000 };

/** The answers of all other nodes. */
export interface NodeAnswers<K extends NodeQuestion> {
  /** The answers, by node. */
  readonly answers: ReadonlyMap<string, Answers[K]>;
  /** The nodes without an answer, and those that operators cannot ask. */
  readonly missing: { unanswered?: string[]; not_operated?: string[] };
}

/** Answers the questions of other nodes at one without an operator API, so that they can name it. */
export const refuseOperators = (others: OtherNodes): void =>
  others.answerWith(() => ({ operated: false }));

const parsers: {
  readonly [K in NodeQuestion]: {
    readonly question: z.ZodMiniType<Questions[K]>;
    readonly answer: z.ZodMiniType<Answers[K]>;
  };
} = NODE_QUESTIONS;

/** Without a cluster there are no other nodes. */
export const NO_OTHERS: OtherNodes = {
  nodes: new Set(),
  ask: () => Promise.resolve(undefined),
  answerWith() {},
};

/**
 * Asks one node.
 *
 * @returns no answer when it has none, or one of a version that is not understood
 */
async function askNode<K extends NodeQuestion>(
  others: OtherNodes,
  node: string,
  kind: K,
  question: Questions[K],
): Promise<{ answer: Answers[K] | undefined; isOperated: boolean }> {
  const timeoutMs = LONGER_MS[kind] ?? TIMEOUT_MS;
  const answered = await others.ask(node, { kind, question }, timeoutMs);
  const { data: answer } = parsers[kind].answer.safeParse(answered);
  return { answer, isOperated: Object(answered).operated !== false };
}

/** Asks all other nodes a question of an operator. */
export async function askNodes<K extends NodeQuestion>(
  others: OtherNodes,
  kind: K,
  question: Questions[K],
): Promise<NodeAnswers<K>> {
  const answers = new Map<string, Answers[K]>();
  const missing: NodeAnswers<K>["missing"] = {};
  await Promise.all([...others.nodes].map(async (node) => {
    const { answer, isOperated } = await askNode(others, node, kind, question);
    if (answer !== undefined) answers.set(node, answer);
    else {
      const why = isOperated ? "unanswered" : "not_operated";
      (missing[why] ??= []).push(node);
    }
  }));
  return { answers, missing };
}

/** Answers the questions of other nodes; one of an unknown kind has no answer. */
export function answerNodes(others: OtherNodes, answerers: Answerers): void {
  const answerOf = <K extends NodeQuestion>(kind: K, question: unknown) =>
    answerers[kind](parsers[kind].question.parse(question));
  others.answerWith((asked) => {
    const { kind, question }: Record<string, unknown> = Object(asked);
    if (isKind(kind)) return answerOf(kind, question);
    throw new TypeError(`unknown kind of question: ${String(kind)}`);
  });
}

const isKind = (kind: unknown): kind is NodeQuestion =>
  typeof kind === "string" && Object.hasOwn(NODE_QUESTIONS, kind);

/** The interval of looking for new nodes, and the wait for one that did not answer. */
const LOOK_MS = 1000;

/** Follows the events of the other nodes, those that join later too. */
export const followNodes = (others: OtherNodes): FollowOthers => (events) => {
  const ended = new AbortController();
  const followed = new Set<string>();
  const look = () => {
    for (const node of others.nodes) {
      if (followed.has(node)) continue;
      followed.add(node);
      void followNode(node, others, events, ended.signal)
        .finally(() => followed.delete(node));
    }
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  return () => {
    clearInterval(timer);
    ended.abort();
  };
};

/** Asks a node for its events until it goes, or `signal` is aborted. */
async function followNode(
  node: string,
  others: OtherNodes,
  events: OtherEvents,
  signal: AbortSignal,
): Promise<void> {
  let cursor: string | undefined;
  const missed = () => {
    if (!others.hasRetired?.(node)) events.missed(node);
  };
  while (others.nodes.has(node)) {
    const { answer } = await askNode(others, node, "events", {
      ...(cursor !== undefined && { cursor }),
    });
    if (signal.aborted) return;
    if (answer === undefined) {
      // Events of the meantime may be lost with their node.
      if (cursor !== undefined) missed();
      cursor = undefined;
      await sleep(LOOK_MS, signal).catch(() => {});
      if (signal.aborted) return;
      continue;
    }
    if (answer.missed) events.missed(node);
    cursor = answer.cursor;
    events.add(node, answer.events);
  }
  if (cursor !== undefined && !signal.aborted) missed();
}
