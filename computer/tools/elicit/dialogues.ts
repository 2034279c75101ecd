import { onAbort } from "../../../shared/async.ts";
import {
  type AgentCallData,
  type CallToolResult,
  type ElicitParams,
  type ElicitResult,
  ErrorCode,
  ProtocolError,
  type ToolCallReq,
} from "../../../protocol/mod.ts";
import {
  type AnswerQuestion,
  type QuestionContext,
  UnansweredError,
} from "../../host/mcp/calls/questions.ts";
import { callFingerprint } from "../call_fingerprint.ts";

/** How long a question waits for the Agent's answer. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;
/** The most questions that wait for Agents at once. */
const MAX_WAITING = 100;
/** The key of a question without a name in `inputRequests`, and of its answer. */
const QUESTION_KEY = "question";

/** A call that its Agent may have to continue with answers. */
export interface Dialogue {
  /** The next answer for the Agent: a question or the result. */
  readonly next: Promise<CallToolResult>;
  /** Ends the call at its MCP server. */
  abort(reason: unknown): void;
}

/** Runs a call; its questions go to `answer`. */
export type RunDialogue = (
  signal: AbortSignal,
  answer: AnswerQuestion,
) => Promise<CallToolResult>;

interface Waiting {
  readonly dialogue: OpenDialogue;
  readonly key: string;
  readonly answer: (result: ElicitResult) => void;
}

/** The calls of one office whose MCP servers may ask their Agents (an extension of this package). */
export class Dialogues {
  readonly #waiting = new Map<string, Waiting>();

  /** Begins a call. */
  begin(request: ToolCallReq, run: RunDialogue): Dialogue {
    const dialogue = new OpenDialogue(request);
    dialogue.run(
      run,
      (question, context) => this.#ask(dialogue, question, context),
    );
    return dialogue;
  }

  /**
   * Answers the question of a call, which goes on.
   *
   * @throws {ProtocolError} 400: there is no such question of this Agent and call, or no answer to it
   */
  resume(request: ToolCallReq): Dialogue {
    const { agent, request_state: state = "", input_responses } = request;
    const waiting = this.#waiting.get(state);
    if (
      !waiting || waiting.dialogue.agent !== agent ||
      waiting.dialogue.fingerprint !== fingerprintOf(request)
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
    return dialogue;
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

  #end(isMeant: (dialogue: OpenDialogue) => boolean): void {
    for (const { dialogue } of [...this.#waiting.values()]) {
      if (isMeant(dialogue)) dialogue.abort("cancelled");
    }
  }

  #ask(
    dialogue: OpenDialogue,
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
    dialogue.reply({
      content: [],
      resultType: "input_required",
      inputRequests: {
        [key]: {
          method: "elicitation/create",
          params: { mode: "form", ...question },
        },
      },
      requestState: state,
    });
    return promise;
  }
}

class OpenDialogue implements Dialogue {
  readonly agent: string;
  readonly fingerprint: string;
  readonly reqIds: Set<string>;
  /** The answers that came with the call. */
  readonly #given: Map<string, ElicitResult>;
  readonly #abort = new AbortController();
  #next = Promise.withResolvers<CallToolResult>();

  constructor(request: ToolCallReq) {
    this.agent = request.agent;
    this.fingerprint = fingerprintOf(request);
    this.reqIds = new Set([request.req_id]);
    this.#given = new Map(Object.entries(request.input_responses ?? {}));
  }

  get next(): Promise<CallToolResult> {
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

  run(run: RunDialogue, answer: AnswerQuestion): void {
    run(this.signal, answer).then(
      (result) => this.reply(result),
      (error) => this.#next.reject(error),
    );
  }

  reply(result: CallToolResult): void {
    this.#next.resolve(result);
  }

  /** The next answer goes to another request of the Agent. */
  continueAs(reqId: string): void {
    this.reqIds.add(reqId);
    this.#next = Promise.withResolvers();
  }

  abort(reason: unknown): void {
    this.#abort.abort(reason);
  }
}

/** Of the call without what answers its questions. */
const fingerprintOf = (
  { computer, tool_name, params }: ToolCallReq,
): string => JSON.stringify([computer, callFingerprint({ tool_name, params })]);

const invalid = (text: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Cannot continue the call: ${text}`,
  );
