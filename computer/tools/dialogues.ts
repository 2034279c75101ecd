/**
 * Calls that ask their Agent: the answer of a request is a question, and a further request of the
 * Agent continues the call with the answer (an extension of this package).
 *
 * @module
 */
import type {
  AnswerQuestion,
  Question,
  QuestionContext,
} from "../host/mcp/mcp_connection.ts";
import { UnansweredError } from "../host/mcp/errors.ts";
import {
  type AgentCallData,
  type ElicitResult,
  ErrorCode,
  ProtocolError,
  type QuestionFields,
  type ToolProgress,
} from "../../protocol/mod.ts";
import { ACCEPTS } from "../../protocol/payloads/elicitation.ts";
import { onAbort } from "../../shared/async.ts";

/** How long a question waits for the Agent's answer. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
/** The most questions that wait for Agents at once. */
const MAX_WAITING = 100;
/** The kind of an answer that asks its Agent. */
const INPUT_REQUIRED = "input_required";
/** The key of a question without a name in `inputRequests`, and of its answer. */
const QUESTION_KEY = "question";

/** A request of an Agent: a call, or one for a prompt. */
export interface AskedRequest extends AgentCallData, QuestionFields {
  /** What is asked for, equal for the same. */
  readonly about: string;
}

/** The next answer for the Agent: the fields of one that asks it, or the result. */
type Turn<R> = { readonly question: object } | { readonly result: R };

/** What settles the next answer; with methods, so that a dialogue of any result is one. */
interface Turns<R> {
  readonly promise: Promise<Turn<R>>;
  resolve(turn: Turn<R>): void;
  reject(error: unknown): void;
}

/** Receives the progress of a request. */
type OnProgress = (progress: ToolProgress) => void;

/** Makes a request; its questions go to `answer`, its progress to `onProgress`. */
type RunDialogue<R> = (
  signal: AbortSignal,
  answer: AnswerQuestion,
  onProgress: OnProgress,
) => Promise<R>;

/** A question that its Agent has not answered yet. */
interface Waiting {
  readonly dialogue: Dialogue<unknown>;
  readonly key: string;
  readonly answer: (result: ElicitResult) => void;
}

/** Returns whether the Agent of a request may be asked. */
export const mayAsk = ({ accepts = [] }: QuestionFields): boolean =>
  accepts.includes(ACCEPTS.form) || accepts.includes(ACCEPTS.url);

/** The requests of one office whose MCP servers may ask their Agents (an extension of this package). */
export class Dialogues {
  readonly #waiting = new Map<string, Waiting>();

  /** Begins a request. */
  begin<R>(request: AskedRequest, run: RunDialogue<R>): Dialogue<R> {
    const { agent, about, req_id, input_responses, accepts } = request;
    const dialogue: Dialogue<R> = {
      agent,
      about,
      accepts: accepts ?? [],
      reqIds: new Set([req_id]),
      given: new Map(Object.entries(input_responses ?? {})),
      end: new AbortController(),
      turn: Promise.withResolvers(),
      onProgress: undefined,
    };
    run(
      dialogue.end.signal,
      (question, context) => this.#ask(dialogue, question, context),
      (progress) => dialogue.onProgress?.(progress),
    ).then(
      (result) => dialogue.turn.resolve({ result }),
      (error) => dialogue.turn.reject(error),
    );
    return dialogue;
  }

  /**
   * Answers the question of a request, which goes on.
   *
   * @throws {ProtocolError} 400: there is no such question of this Agent and request, or no answer to it
   */
  resume<R>(request: AskedRequest): Dialogue<R> {
    const { agent, request_state: state = "", input_responses } = request;
    const waiting = this.#waiting.get(state);
    const isSame = waiting?.dialogue.agent === agent &&
      waiting.dialogue.about === request.about;
    if (!isSame) {
      throw invalid(
        "request_state is unknown, expired, or of another call; make the call again",
      );
    }
    const { dialogue, key, answer } = waiting;
    const response = new Map(Object.entries(input_responses ?? {})).get(key);
    if (!response) throw invalid(`input_responses.${key} is required`);
    dialogue.reqIds.add(request.req_id);
    dialogue.turn = Promise.withResolvers();
    answer(response);
    return dialogue as Dialogue<R>; // what is the same has the same kind of result
  }

  /** Ends the calls that wait for an answer: of all Agents, of one, or the one that had this `req_id` once. */
  end({ agent, req_id }: Partial<AgentCallData> = {}): void {
    for (const { dialogue } of [...this.#waiting.values()]) {
      const isMeant = (agent ?? dialogue.agent) === dialogue.agent &&
        (req_id === undefined || dialogue.reqIds.has(req_id));
      if (isMeant) dialogue.end.abort("cancelled");
    }
  }

  #ask(
    dialogue: Dialogue<unknown>,
    question: Question,
    { signal, isCertain, key = QUESTION_KEY }: QuestionContext,
  ): Promise<ElicitResult> {
    if (!isCertain) {
      throw new UnansweredError(
        "several calls run at this MCP server, and it is unknown whose question it is",
      );
    }
    const { mode = "form" } = question;
    if (!dialogue.accepts.includes(ACCEPTS[mode])) {
      throw new UnansweredError(
        `the caller accepts no questions of the mode "${mode}"`,
      );
    }
    const given = dialogue.given.get(key);
    dialogue.given.delete(key); // once, as it may be asked again
    if (given) return Promise.resolve(given);
    if (this.#waiting.size >= MAX_WAITING) {
      throw new UnansweredError(`${MAX_WAITING} other questions wait`);
    }
    const state = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<ElicitResult>();
    const end = (result: ElicitResult) => {
      clearTimeout(timer);
      off();
      this.#waiting.delete(state);
      resolve(result);
    };
    const timer = setTimeout(() => {
      end({ action: "cancel" });
      dialogue.end.abort("cancelled");
    }, ANSWER_TIMEOUT_MS);
    const off = onAbort(
      AbortSignal.any([signal, dialogue.end.signal]),
      () => end({ action: "cancel" }),
    );
    this.#waiting.set(state, { dialogue, key, answer: end });
    const method = "elicitation/create";
    const params = { mode: "form", ...question };
    dialogue.turn.resolve({
      question: {
        resultType: INPUT_REQUIRED,
        inputRequests: { [key]: { method, params } },
        requestState: state,
      },
    });
    return promise;
  }
}

/** A request that its Agent may have to continue with answers. */
export interface Dialogue<R> {
  readonly agent: string;
  readonly about: string;
  /** What the Agent accepts. */
  readonly accepts: readonly string[];
  readonly reqIds: Set<string>;
  /** The answers that came with the call. */
  readonly given: Map<string, ElicitResult>;
  /** Ends the request at its MCP server. */
  readonly end: AbortController;
  /** The next answer for the Agent: a question, or the result. */
  turn: Turns<R>;
  /** Receives the progress, for the request of the Agent that waits now. */
  onProgress: OnProgress | undefined;
}

const invalid = (text: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Cannot continue the call: ${text}`,
  );
