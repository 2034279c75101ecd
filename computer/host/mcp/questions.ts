import { AsyncLocalStorage } from "node:async_hooks";
import { INVALID_REQUEST } from "./errors.ts";
import type { ElicitParams, ElicitResult } from "../../../protocol/mod.ts";

/** The circumstances of a question. */
export interface QuestionContext {
  /** Withdraws the question: the MCP server did, or no call that may have caused it runs any more. */
  readonly signal: AbortSignal;
  /** Whether it is certain that this call caused the question: over stdio MCP does not say which one did. */
  readonly isCertain: boolean;
  /** What the MCP server calls the question. */
  readonly key?: string;
}

/** A question as its MCP server sends it. */
interface SentQuestion extends ElicitParams {
  /** What the server calls it. */
  readonly key?: string | undefined;
}

/** Answers a question that an MCP server asks during a call; a rejection refuses it with its text. */
export type AnswerQuestion = (
  question: ElicitParams,
  context: QuestionContext,
) => Promise<ElicitResult>;

/** The answer to a question that nobody can answer; begins as the MCP SDK does for clients that cannot be asked. */
export class UnansweredError extends Error {
  /** JSON-RPC's "invalid request". */
  readonly code = INVALID_REQUEST;

  /** @param reason why nobody answers */
  constructor(reason: string) {
    super(`Client does not support form elicitation: ${reason}`);
    this.name = "UnansweredError";
  }
}

interface RunningCall {
  readonly answer: AnswerQuestion;
}

/** Stands for requests during which an MCP server may not ask. */
const NOBODY: RunningCall = {
  answer: () => Promise.reject(new UnansweredError("not for such a request")),
};

/** A question that is not answered yet. */
interface OpenQuestion {
  /** The running calls that may have caused it. */
  readonly causes: Set<RunningCall>;
  /** Withdraws it when none of them runs any more. */
  readonly over: AbortController;
}

/** The questions of an MCP server, and the calls that may have caused them. */
export class Questions {
  readonly #calls = new Set<RunningCall>();
  readonly #open = new Set<OpenQuestion>();
  /** The call in whose answer a message of the server comes. */
  readonly #current: AsyncLocalStorage<RunningCall> | undefined;

  /**
   * @param inAnswers whether the transport reads each request's answer in the context in which that
   * was sent: messages that belong to a call are in its answer, over Streamable HTTP
   */
  constructor(inAnswers = false) {
    if (inAnswers) this.#current = new AsyncLocalStorage();
  }

  /** Runs a call or another request, during which the server may ask. */
  async during<T>(
    answer: AnswerQuestion | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    if (!answer) return await (this.#current?.run(NOBODY, call) ?? call());
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
   * @throws {UnansweredError} nobody can
   */
  async answer(
    { key, ...question }: SentQuestion,
    signal: AbortSignal,
  ): Promise<ElicitResult> {
    const cause = this.#current?.getStore();
    const causes = new Set(
      [...this.#calls].filter((call) => (cause ?? call) === call),
    );
    const [first] = causes;
    if (!first) throw new UnansweredError("no tool call is running");
    const open = { causes, over: new AbortController() };
    this.#open.add(open);
    try {
      return await first.answer(question, {
        signal: AbortSignal.any([signal, open.over.signal]),
        isCertain: causes.size === 1,
        ...(key !== undefined && { key }),
      });
    } finally {
      this.#open.delete(open);
    }
  }
}
