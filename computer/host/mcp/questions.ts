/**
 * The questions that an MCP server asks during calls (MCP's elicitation): in a session by requests of its
 * own, since 2026-07-28 in the result of the call, which is then made again with the answers.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ElicitRequestFormParamsSchema,
  ErrorCode,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { UnansweredError } from "./errors.ts";
import type { Peer } from "./handshake.ts";
import type {
  AnswerQuestion,
  Question,
  QuestionContext,
} from "./mcp_connection.ts";
import { sleep, withTimeout } from "../../../shared/async.ts";
import type { ElicitResult } from "../../../protocol/mod.ts";
import { isRecord } from "../../../protocol/names.ts";

/** The key of `_meta` with which an MCP server names its question. */
const KEY = "a2c-smcp/key";

const readKey = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][\w.-]{0,63}$/.test(value)
    ? value
    : undefined;

/** A request during which the server may ask. */
interface RunningCall {
  readonly answer: AnswerQuestion;
}

/** Stands for requests during which an MCP server may not ask. */
const NO_QUESTIONS: RunningCall = {
  answer: () => Promise.reject(new UnansweredError("not for such a request")),
};

/** The most times that one call asks. */
const MAX_ROUNDS = 32;
/** Time between two attempts of a call that is to be made again, but asks nothing. */
const RETRY_MS = 250;

const KEYED = z.looseObject({ _meta: z.looseObject({}).optional() });
const FORM = z.object(ElicitRequestFormParamsSchema.shape);
const PAGE = z.object({
  mode: z.literal("url"),
  message: z.string(),
  url: z.url({ protocol: /^https?$/ }),
  elicitationId: z.string().optional(),
});

/**
 * Reads a question as its MCP server sends it.
 *
 * @returns the question, and the server's key for it
 * @throws {McpError} invalid params
 */
export function readQuestion(
  params: unknown,
): { question: Question; key: string | undefined } {
  const isPage = isRecord(params) && params.mode === "url";
  const { data, error } = isPage
    ? PAGE.safeParse(params)
    : FORM.safeParse(params);
  if (error) {
    throw new McpError(
      ErrorCode.InvalidParams,
      `Invalid elicitation request: ${z.prettifyError(error)}`,
    );
  }
  const key = readKey(KEYED.safeParse(params).data?._meta?.[KEY]);
  if (data.mode === "url") {
    const { elicitationId, ...page } = data;
    const id = elicitationId !== undefined && { elicitationId };
    return { question: { ...page, ...id }, key };
  }
  const { message, requestedSchema } = data;
  return { question: { message, requestedSchema }, key };
}

const contextOf = (
  signal: AbortSignal,
  key: string | undefined,
  isCertain = true,
): QuestionContext => ({
  signal,
  isCertain,
  ...(key !== undefined && { key }),
});

/** The request of an MCP server that asks. */
const ELICIT = z.looseObject({
  method: z.literal("elicitation/create"),
  params: z.unknown(),
});

/** What is asked for in a result, by the server's keys. */
type Asked = Readonly<Record<string, unknown>>;

/**
 * Answers what a result asks for.
 *
 * @throws {UnansweredError} it cannot be answered
 */
export async function answersTo(
  asked: Asked,
  answer: AnswerQuestion | undefined,
  signal: AbortSignal,
): Promise<Record<string, ElicitResult>> {
  const responses: Record<string, ElicitResult> = {};
  for (const [name, request] of Object.entries(asked)) {
    const { data } = ELICIT.safeParse(request);
    if (!data) throw new UnansweredError("it is no question for a person");
    if (!answer) throw new UnansweredError("not for such a request");
    const { question, key = readKey(name) } = readQuestion(data.params);
    responses[name] = await answer(question, contextOf(signal, key));
  }
  return responses;
}

/**
 * Sends a request, and again with answers for as long as its result asks (MCP 2026-07-28).
 *
 * @param send adds the fields to the parameters
 * @throws {UnansweredError} a question cannot be answered, or there are too many
 */
export async function askedRounds(
  send: (fields: Record<string, unknown>) => Promise<Record<string, unknown>>,
  answer: AnswerQuestion | undefined,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  let result = await send({});
  for (let round = 1; result.resultType === "input_required"; round++) {
    if (round > MAX_ROUNDS) {
      throw new UnansweredError(`it asked ${MAX_ROUNDS} times`);
    }
    const { inputRequests, requestState } = result;
    // A question has one of the two; without both its type is a mistake.
    if (inputRequests === undefined && requestState === undefined) break;
    const asked = isRecord(inputRequests) ? inputRequests : {};
    const inputResponses = await answersTo(asked, answer, signal);
    const hasAnswers = Object.keys(inputResponses).length > 0;
    if (!hasAnswers) await sleep(RETRY_MS, signal);
    result = await send({
      ...(hasAnswers && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    });
  }
  return result;
}

/** A question that is not answered yet. */
interface OpenQuestion {
  /** The running calls that may have caused it. */
  readonly causes: Set<RunningCall>;
  /** Withdraws it when none of them runs any more. */
  readonly over: AbortController;
}

/** How long a call waits for the report that a page is done, which not every server sends. */
const COMPLETION_MS = 15_000;

/** The pages of an MCP server that people are asked to open, until it reports that they are done. */
class OpenPages {
  /** What takes the report, by the server's id of the page. */
  readonly #waiting = new Map<string, () => void>();

  /** Takes the report. */
  completed(id: string): void {
    this.#waiting.get(id)?.();
  }

  /**
   * Asks a person; the report answers in their place.
   *
   * @param waitMs how long the report is waited for after they have opened the page
   */
  async ask(
    question: Question,
    ask: (signal: AbortSignal) => Promise<ElicitResult>,
    signal: AbortSignal,
    waitMs = 0,
  ): Promise<ElicitResult> {
    const id = question.mode === "url" ? question.elicitationId : undefined;
    if (id === undefined) return await ask(signal);
    const done = Promise.withResolvers<ElicitResult>();
    const take = () => done.resolve({ action: "accept" });
    this.#waiting.set(id, take);
    const over = new AbortController();
    try {
      const answer = await Promise.race([
        done.promise,
        ask(AbortSignal.any([signal, over.signal])),
      ]);
      if (answer.action === "accept" && waitMs > 0) {
        await withTimeout(waitMs, () => done.promise, { signal })
          .catch(() => {}); // the call shows whether it is done
      }
      return answer;
    } finally {
      over.abort();
      if (this.#waiting.get(id) === take) this.#waiting.delete(id);
    }
  }
}

/** The questions of an MCP server, and the calls that may have caused them. */
export class Questions {
  readonly #calls = new Set<RunningCall>();
  readonly #open = new Set<OpenQuestion>();
  readonly #pages = new OpenPages();
  /** The call in whose answer a message of the server comes. */
  readonly #current: AsyncLocalStorage<RunningCall> | undefined;

  /**
   * @param inAnswers whether the transport reads each request's answer in the context in which that
   * was sent: messages that belong to a call are in its answer, over Streamable HTTP
   */
  constructor(inAnswers = false) {
    if (inAnswers) this.#current = new AsyncLocalStorage();
  }

  /** Answers what a server asks its client. */
  receive(peer: Peer): void {
    peer.setRequestHandler(ELICIT, ({ params }, { signal }) => {
      const { question, key } = readQuestion(params);
      return this.answer(question, signal, key);
    });
  }

  /** Takes the server's report that a person is done with a page. */
  completed(elicitationId: unknown): void {
    this.#pages.completed(String(elicitationId));
  }

  /**
   * Asks a person to open the pages without which a call fails, and waits until they are done, as far as the
   * server reports that.
   *
   * @returns whether all were opened
   */
  async open(
    pages: readonly unknown[],
    answer: AnswerQuestion,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      for (const page of pages.slice(0, MAX_ROUNDS)) {
        const asked = { ...Object(page), mode: "url" };
        const { question, key } = readQuestion(asked);
        const ask = (signal: AbortSignal) =>
          answer(question, contextOf(signal, key));
        const { action } = await this.#pages.ask(
          question,
          ask,
          signal,
          COMPLETION_MS,
        );
        if (action !== "accept") return false;
      }
    } catch {
      return false; // the error of the call has the pages
    }
    return pages.length > 0 && !signal.aborted;
  }

  /** Runs a call or another request, during which the server may ask. */
  async during<T>(
    answer: AnswerQuestion | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    if (!answer) {
      return await (this.#current?.run(NO_QUESTIONS, call) ?? call());
    }
    const running: RunningCall = { answer };
    this.#calls.add(running);
    try {
      return await (this.#current?.run(running, call) ?? call());
    } finally {
      this.#calls.delete(running);
      for (const { causes, over } of this.#open) {
        causes.delete(running);
        if (causes.size === 0) over.abort();
      }
    }
  }

  /**
   * Answers a question of the server.
   *
   * @param key the server's own for it
   * @throws {UnansweredError} when no running call can answer it
   */
  async answer(
    question: Question,
    signal: AbortSignal,
    key?: string,
  ): Promise<ElicitResult> {
    const cause = this.#current?.getStore();
    const causes = new Set(
      [...this.#calls].filter((call) => (cause ?? call) === call),
    );
    const [first] = causes;
    if (!first) throw new UnansweredError("no tool call is running");
    const open = { causes, over: new AbortController() };
    this.#open.add(open);
    const ask = (signal: AbortSignal) =>
      first.answer(question, contextOf(signal, key, causes.size === 1));
    const end = AbortSignal.any([signal, open.over.signal]);
    try {
      return await this.#pages.ask(question, ask, end);
    } finally {
      this.#open.delete(open);
    }
  }
}
