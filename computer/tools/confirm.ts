import type {
  OptionId,
  QuestionOption,
} from "../../shared/approvals/question.ts";

/** A tool call about which a rule asks. */
export interface CallToConfirm {
  /** The calling Agent; `operator` where an operator of the Server calls. */
  readonly agent: string;
  /** The operator, where one calls. */
  readonly operator?: string;
  /** The name of the MCP server that has the tool. */
  readonly server: string;
  /** The server's `bundle_id`, where it is not the name; another one may have the same name. */
  readonly bundleId?: string;
  /** The tool's original name. */
  readonly tool: string;
  /** The name that the Agent used: its alias, or the original name. */
  readonly name: string;
  /** The arguments. */
  readonly params: Record<string, unknown>;
}

/** The question whether a tool call may run. */
export interface ConfirmRequest extends CallToConfirm {
  /** The hash of the tool's definition: name, description, schemas and annotations. */
  readonly definition: string;
  /** The rule that asks, in words. */
  readonly rule: { readonly id: string; readonly text: string };
  /** Whether that rule asks about every call, whatever was allowed before. */
  readonly every: boolean;
  /** Identifies the rules as they are now. */
  readonly rulesVersion: string;
  /**
   * The answers that are offered. `always` is for who sits at the Computer: a device must leave it out.
   * Another answer than these counts as the nearest of them that allows less.
   */
  readonly options: readonly QuestionOption[];
  /** What is left of the call's timeout. */
  readonly leftMs: number;
  /** What a file has now, where the rule names the arguments that write it. */
  readonly diff?: FileNow;
  /**
   * Takes an answer that comes after the call has timed out, within ten minutes, once: a yes then counts
   * for one call of the same Agent, with the same tool and equal arguments. Before that, and later, it
   * does nothing.
   */
  late(answer: ConfirmAnswer | Confirmed): void;
  /**
   * Announces, while the question is open, that `late` may be called: the result of a call that times out
   * then has the advice to repeat it unchanged.
   */
  expectLate?(): void;
}

/** The content of a file that a call would write. */
export interface FileNow {
  /** The argument with the new content. */
  readonly of: string;
  /** The content now; absent for a file that does not exist. */
  readonly before?: string;
}

/**
 * The answer to a question.
 *
 * - `once`: this call may run
 * - `hour`: this call, and for an hour up to 20 equal ones of the Agent
 * - `always`: this call, and every one of the Agent with this tool, until its definition or its MCP server
 *   changes
 * - `no`: the call is refused
 * - `mute`: as are all calls of the Agent that would ask, for ten minutes
 */
export type ConfirmAnswer = OptionId;

/** An answer, and where it comes from. */
export interface Confirmed {
  /** The answer. */
  readonly answer: ConfirmAnswer;
  /** Why not; the model reads it. */
  readonly reason?: string;
  /** Where it was given, after the word "answered": `at the terminal`, `on "Pixel"`. */
  readonly by?: string;
}

/**
 * Asks whether a tool may run (protocol §7).
 *
 * An error counts as "no". Several questions may be open at once. An answer that is no promise is one of a
 * program: a "no" of it does not count against the Agent.
 *
 * @param signal withdraws the question; its reason is a text: `timeout` where the call has timed out, else
 * for people, such as `cancelled` or `answered at the terminal`
 */
export type Confirm = (
  request: ConfirmRequest,
  signal: AbortSignal,
) => ConfirmAnswer | Confirmed | Promise<ConfirmAnswer | Confirmed>;

/** Returns an answer in its long form; anything that is none is a no. */
export function toConfirmed(answer: unknown): Confirmed {
  const given = typeof answer === "string" ? { answer } : Object(answer);
  return isAnswer(given.answer) ? given : { answer: "no" };
}

const ANSWERS = {
  once: true,
  hour: true,
  always: true,
  no: true,
  mute: true,
} satisfies Record<ConfirmAnswer, true>;

const isAnswer = (answer: unknown): answer is ConfirmAnswer =>
  typeof answer === "string" && Object.hasOwn(ANSWERS, answer);
