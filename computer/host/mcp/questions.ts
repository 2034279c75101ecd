/**
 * The questions that an MCP server asks during calls (MCP's elicitation).
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { AnswerQuestion } from "./mcp_connection.ts";
import { UnansweredError } from "./errors.ts";
import type { ElicitParams, ElicitResult } from "../../../protocol/mod.ts";

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

/** A question as its MCP server sends it. */
interface SentQuestion extends ElicitParams {
  /** The server's key for it. */
  readonly key?: string | undefined;
}

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

  /** Answers what a server asks its client. */
  receive(client: Client): void {
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
      if (params.mode === "url") throw new UnansweredError("no page is opened");
      const { message, requestedSchema, _meta: meta } = params;
      const key = readKey(meta?.[KEY]);
      return this.answer({ message, requestedSchema, key }, signal);
    });
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
   * @throws {UnansweredError} when no running call can answer it
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
