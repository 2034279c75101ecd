import type { Question, QuestionContext } from "../host/mcp/mcp_connection.ts";
import { UnansweredError } from "../host/mcp/errors.ts";
import { checkForm, readFields } from "./form.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import type { ElicitResult } from "../../protocol/mod.ts";
import { abortable } from "../../shared/async.ts";

/** The most questions that wait for an answer at once: an MCP server may ask without end. */
const MAX_OPEN_QUESTIONS = 16;

/** The call during which an MCP server asks; another request, such as for a prompt, has no `tool`. */
type AskingCall =
  & Omit<ElicitRequest, "agent" | "message" | "requestedSchema" | "url">
  & { readonly agent: string };

/** Answers the questions of MCP servers with the help of the person at the Computer. */
export class Elicitations {
  readonly #elicit: Elicit | undefined;
  #open = 0;

  /** @param elicit asks the person; without it, questions are refused */
  constructor(elicit: Elicit | undefined) {
    this.#elicit = elicit;
  }

  /** Whether there is a person to ask. */
  get canAsk(): boolean {
    return this.#elicit !== undefined;
  }

  /**
   * Asks the person.
   *
   * @throws {UnansweredError} sent to the MCP server
   */
  async ask(
    { server, bundleId, ...caller }: AskingCall,
    question: Question,
    { signal, isCertain }: QuestionContext,
  ): Promise<ElicitResult> {
    if (!this.#elicit) {
      throw new UnansweredError(
        "this Computer cannot ask a person, and the caller accepts no questions",
      );
    }
    const { message } = question;
    const page = question.mode === "url" ? question.url : undefined;
    const requestedSchema = question.mode === "url"
      ? NO_FIELDS
      : question.requestedSchema;
    const fields = readFields(requestedSchema);
    if (this.#open >= MAX_OPEN_QUESTIONS) {
      throw new UnansweredError(
        `${MAX_OPEN_QUESTIONS} other questions wait for an answer`,
      );
    }
    this.#open++;
    try {
      const asked = this.#elicit({
        server,
        ...(bundleId !== undefined && { bundleId }),
        ...(isCertain && caller),
        message,
        requestedSchema,
        ...(page !== undefined && { url: page }),
      }, signal);
      const answer = await abortable(Promise.resolve(asked), signal);
      const { action, content } = answer;
      if (action !== "accept" || page !== undefined) return { action };
      const values = content ?? {};
      const problems = checkForm(fields, values);
      if (problems.length > 0) throw new TypeError(problems.join("; "));
      return { action, content: values };
    } catch (error) {
      if (signal.aborted) return { action: "cancel" };
      // The values are no part of the reason: they may be secret.
      log.warn(
        "A question of MCP server {server} was not answered: {reason}",
        { server, reason: reasonOf(error) },
      );
      throw new UnansweredError("asking the person at the Computer failed");
    } finally {
      this.#open--;
    }
  }
}

/** The form of a question that asks to open a page. */
const NO_FIELDS = { type: "object", properties: {} };

/** A question that an MCP server asks during a tool call, or while it makes a prompt. */
export interface ElicitRequest {
  /** The MCP server that asks; everything below `message` is its own text. */
  readonly server: string;
  /** The server's `bundle_id`, where it is not the name; another one may have the same name. */
  readonly bundleId?: string;
  /** The calling Agent; absent when several calls run there, and any of them may have caused the question. */
  readonly agent?: string;
  /** The operator of the Server who called in place of an Agent; absent as `agent` is. */
  readonly operator?: string;
  /** The name of the tool that the Agent called; absent as `agent` is, and for a prompt. */
  readonly tool?: string;
  /** The question. */
  readonly message: string;
  /** An object schema whose properties are simple values: the fields to fill in. */
  readonly requestedSchema: Record<string, unknown>;
  /**
   * The address of a page to open, of `http` or `https`; without fields to fill in. Show it whole, and open it
   * only when the person does: `accept` means that they have.
   */
  readonly url?: string;
}

/**
 * Answers a question of an MCP server. An error, or values that the schema does not allow, refuse it.
 *
 * Several questions may be open at once.
 *
 * @param signal withdraws the question: its call ended, or the MCP server withdrew it
 */
export type Elicit = (
  request: ElicitRequest,
  signal: AbortSignal,
) => ElicitResult | Promise<ElicitResult>;
