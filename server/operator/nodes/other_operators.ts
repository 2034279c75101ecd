import type { z } from "zod";
import type { OtherNodes } from "../../shared/cluster.ts";
import {
  type Answerers,
  type Answers,
  NODE_QUESTIONS,
  type NodeQuestion,
  type Questions,
} from "./node_questions.ts";

/** How long a node has to answer. */
const TIMEOUT_MS = 3000;
/** Those that have to wait themselves, for events. */
const LONGER_MS: Partial<Record<NodeQuestion, number>> = { events: 20_000 };

/** What all other nodes have answered. */
export interface Told<K extends NodeQuestion> {
  /** The answers, by node. */
  readonly answers: ReadonlyMap<string, Answers[K]>;
  /** The nodes without an answer. */
  readonly unanswered: readonly string[];
  /** The nodes that operators cannot ask. */
  readonly notOperated: readonly string[];
}

/** The answer of a node that operators cannot ask. */
const NOT_OPERATED = { operated: false };

/** Answers the questions of other nodes at one without an operator API, so that they can name it. */
export const refuseOperators = (others: OtherNodes): void =>
  others.answerWith(() => NOT_OPERATED);

const schemas: {
  readonly [K in NodeQuestion]: {
    readonly question: z.ZodType<Questions[K]>;
    readonly answer: z.ZodType<Answers[K]>;
  };
} = NODE_QUESTIONS;

/** Asks the other nodes what operators want to know; a server without others has nobody to ask. */
export class OtherOperators {
  readonly #others: OtherNodes | undefined;

  constructor(others: OtherNodes | undefined) {
    this.#others = others;
  }

  /** The other nodes. */
  get nodes(): ReadonlySet<string> {
    return this.#others?.nodes ?? new Set();
  }

  /**
   * Asks one node.
   *
   * @returns `undefined` when it has no answer, or one of a version that is not understood
   */
  async ask<K extends NodeQuestion>(
    node: string,
    kind: K,
    question: Questions[K],
  ): Promise<Answers[K] | undefined> {
    const answer = await this.#ask(node, kind, question);
    return schemas[kind].answer.safeParse(answer).data;
  }

  async #ask<K extends NodeQuestion>(
    node: string,
    kind: K,
    question: Questions[K],
  ): Promise<unknown> {
    const timeoutMs = LONGER_MS[kind] ?? TIMEOUT_MS;
    return await this.#others?.ask(node, { kind, question }, timeoutMs);
  }

  /** Asks all of them. */
  async askAll<K extends NodeQuestion>(
    kind: K,
    question: Questions[K],
  ): Promise<Told<K>> {
    const answers = new Map<string, Answers[K]>();
    const unanswered: string[] = [];
    const notOperated: string[] = [];
    await Promise.all([...this.nodes].map(async (node) => {
      const said = await this.#ask(node, kind, question);
      const { data } = schemas[kind].answer.safeParse(said);
      if (data !== undefined) answers.set(node, data);
      else if (Object(said).operated === false) notOperated.push(node);
      else unanswered.push(node);
    }));
    return { answers, unanswered, notOperated };
  }

  /** Answers what they ask. */
  answerWith(answerers: Answerers): void {
    this.#others?.answerWith((asked) => answer(asked, answerers));
  }
}

/** @throws {Error} for what is no question of this version */
function answer(asked: unknown, answerers: Answerers): unknown {
  const { kind, question }: Record<string, unknown> = Object(asked);
  if (typeof kind !== "string" || !isKind(kind)) {
    throw new TypeError(`no question of this version: ${String(kind)}`);
  }
  return answerOf(kind, question, answerers);
}

const answerOf = <K extends NodeQuestion>(
  kind: K,
  question: unknown,
  answerers: Answerers,
): unknown => answerers[kind](schemas[kind].question.parse(question));

const isKind = (kind: string): kind is NodeQuestion =>
  Object.hasOwn(NODE_QUESTIONS, kind);
