/**
 * Calls that ask their Agent: the answer of a request is a question, and a further request of the
 * Agent continues the call with the answer (an extension of this package).
 *
 * @module
 */
import {
  type AnswerQuestion,
  type QuestionContext,
  UnansweredError,
} from "../host/mcp/questions.ts";
import {
  type AgentCallData,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  ProtocolError,
  type QuestionFields,
  type ToolProgress,
} from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";

/** How long a question waits for the Agent's answer. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
/** The most questions that wait for Agents at once. */
const MAX_WAITING = 100;
/** What an Agent accepts that can answer questions. */
export const INPUT_REQUIRED = "input_required";
/** The key of a question without a name in `inputRequests`, and of its answer. */
const QUESTION_KEY = "question";

/** A request of an Agent: a call, or one for a prompt. */
export interface AskedRequest extends AgentCallData, QuestionFields {
  /** What is asked for, equal for the same. */
  readonly about: string;
}

/** The fields of an answer that asks the Agent. */
interface InputRequired {
  /** Tells it from a result. */
  readonly resultType: typeof INPUT_REQUIRED;
  /** The question, by its key. */
  readonly inputRequests: Readonly<Record<string, unknown>>;
  /** What the Agent repeats. */
  readonly requestState: string;
}

/** The next answer for the Agent. */
type Turn<R> = { readonly question: InputRequired } | { readonly result: R };

/** Receives the progress of a request. */
type OnProgress = (progress: ToolProgress) => void;

/** Makes a request; its questions go to `answer`, its progress to `onProgress`. */
type RunDialogue<R> = (
  signal: AbortSignal,
  answer: AnswerQuestion,
  onProgress: OnProgress,
) => Promise<R>;

/** A dialogue, whatever its result is. */
type AskingDialogue = Omit<Dialogue<never>, "next">;

/** A question that its Agent has not answered yet. */
interface Waiting {
  readonly dialogue: AskingDialogue;
  readonly key: string;
  readonly answer: (result: ElicitResult) => void;
}

/** The requests of one office whose MCP servers may ask their Agents (an extension of this package). */
export class Dialogues {
  readonly #waiting = new Map<string, Waiting>();

  /** Begins a request. */
  begin<R>(request: AskedRequest, run: RunDialogue<R>): Dialogue<R> {
    const dialogue = new Dialogue<R>(request);
    run(
      dialogue.signal,
      (question, context) => this.#ask(dialogue, question, context),
      (progress) => dialogue.onProgress?.(progress),
    ).then((result) => dialogue.settle({ result }), dialogue.fail);
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
    if (
      !waiting || waiting.dialogue.agent !== agent ||
      waiting.dialogue.about !== request.about
    ) {
      throw invalid(
        "request_state is unknown, expired, or of another call; make the call anew",
      );
    }
    const { dialogue, key, answer } = waiting;
    const response = new Map(Object.entries(input_responses ?? {})).get(key);
    if (!response) throw invalid(`input_responses.${key} is required`);
    dialogue.continueAs(request.req_id);
    answer(response);
    return dialogue as Dialogue<R>; // what is the same has the same kind of result
  }

  /** Ends the call that waits for an answer, and had this `req_id` once. */
  cancel({ agent, req_id }: AgentCallData): void {
    this.#end((dialogue) =>
      dialogue.agent === agent && dialogue.reqIds.has(req_id)
    );
  }

  /** Ends the calls of an Agent that wait for an answer, or all of them. */
  end(agent?: string): void {
    this.#end((dialogue) => agent === undefined || dialogue.agent === agent);
  }

  #end(isMeant: (dialogue: AskingDialogue) => boolean): void {
    for (const { dialogue } of [...this.#waiting.values()]) {
      if (isMeant(dialogue)) dialogue.abort("cancelled");
    }
  }

  #ask(
    dialogue: AskingDialogue,
    question: ElicitParams,
    { signal, isCertain, key = QUESTION_KEY }: QuestionContext,
  ): Promise<ElicitResult> {
    if (!isCertain) {
      throw new UnansweredError(
        "several calls run at this MCP server, and it is unknown whose question it is",
      );
    }
    const given = dialogue.takeGiven(key);
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
      dialogue.abort("cancelled");
    }, ANSWER_TIMEOUT_MS);
    const off = onAbort(
      AbortSignal.any([signal, dialogue.signal]),
      () => end({ action: "cancel" }),
    );
    this.#waiting.set(state, { dialogue, key, answer: end });
    dialogue.settle({
      question: {
        resultType: INPUT_REQUIRED,
        inputRequests: {
          [key]: {
            method: "elicitation/create",
            params: { mode: "form", ...question },
          },
        },
        requestState: state,
      },
    });
    return promise;
  }
}

/** A request that its Agent may have to continue with answers. */
export class Dialogue<R> {
  readonly agent: string;
  readonly about: string;
  readonly reqIds: Set<string>;
  /** Receives the progress, for the request of the Agent that waits now. */
  onProgress: OnProgress | undefined;
  /** The answers that came with the call. */
  readonly #given: Map<string, ElicitResult>;
  readonly #abort = new AbortController();
  #next = Promise.withResolvers<Turn<R>>();

  constructor(request: AskedRequest) {
    this.agent = request.agent;
    this.about = request.about;
    this.reqIds = new Set([request.req_id]);
    this.#given = new Map(Object.entries(request.input_responses ?? {}));
  }

  /** A question, or the result. */
  get next(): Promise<Turn<R>> {
    return this.#next.promise;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Returns the answer to a question that came with the call; once, as it may be asked again. */
  takeGiven(key: string): ElicitResult | undefined {
    const answer = this.#given.get(key);
    this.#given.delete(key);
    return answer;
  }

  /** Gives the Agent its next answer. */
  settle(turn: Turn<R>): void {
    this.#next.resolve(turn);
  }

  /** Ends the dialogue with an error. */
  readonly fail = (error: unknown): void => this.#next.reject(error);

  /** The next answer goes to another request of the Agent. */
  continueAs(reqId: string): void {
    this.reqIds.add(reqId);
    this.#next = Promise.withResolvers();
  }

  /** Ends the request at its MCP server. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
  }
}

const invalid = (text: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Cannot continue the call: ${text}`,
  );
