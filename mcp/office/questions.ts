import { isRecord } from "../../protocol/names.ts";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import type * as Mcp from "@modelcontextprotocol/server";
import type { CallToolOptions } from "../../agent/mod.ts";
import { runningCallOf } from "../tasks/running_call.ts";
import { invalidParams, messageOf } from "../tools/result.ts";
import { type ElicitResult, parseElicitResult } from "../../protocol/mod.ts";

/** What a call's question remembers at the client: the Computer's own state. */
export type QuestionStates = Mcp.RequestStateCodec<string>;

/** Seals the states of questions; each counts for the principal that made the call. */
export const createQuestionStates = (): QuestionStates =>
  createRequestStateCodec<string>({
    key: crypto.getRandomValues(new Uint8Array(32)),
    bind: ({ http }) => http?.authInfo?.clientId ?? "",
  });

/** Lets an MCP server ask the client of a call. */
export interface CallQuestions {
  /** For the Agent's call. */
  readonly input: NonNullable<CallToolOptions["input"]>;
  /**
   * Makes the question for the client from an answer of the Computer, if it is one.
   *
   * @param held called when the client ends the call with its request, even while the question waits
   */
  toQuestion(
    result: object,
    held: () => void,
  ): Promise<Mcp.InputRequiredResult | undefined>;
}

/**
 * Reads what a call may ask its client, and what the client has answered.
 *
 * @returns undefined when the client cannot be asked
 * @throws {ProtocolError} invalid params: an answer is invalid
 */
export function readQuestions(
  server: Mcp.Server,
  context: Mcp.ServerContext,
  states: QuestionStates,
): CallQuestions | undefined {
  const accepts = acceptedBy(server.getClientCapabilities());
  if (accepts === undefined) return undefined;
  const { requestState, inputResponses, envelope } = context.mcpReq;
  const state = requestState<string>();
  const input: CallQuestions["input"] = {
    accepts,
    ...(state !== undefined && { state }),
    ...(inputResponses && { responses: readResponses(inputResponses) }),
  };
  return {
    input,
    async toQuestion(result, held) {
      const question = questionIn(result);
      if (question === undefined) return undefined;
      if (envelope === undefined || runningCallOf(context)?.isTask) held();
      const requestState = await states.mint(question.requestState, context);
      return { ...question, requestState };
    },
  };
}

/** Returns which questions a client takes; `undefined` where it cannot be asked. */
export function acceptedBy(
  { elicitation }: Mcp.ClientCapabilities = {},
): NonNullable<CallToolOptions["input"]>["accepts"] {
  if (elicitation === undefined) return undefined;
  const { form, url } = elicitation;
  return [
    ...form !== undefined || url === undefined ? ["form" as const] : [],
    ...url !== undefined ? ["url" as const] : [],
  ];
}

/** Returns the question that a Computer has answered with, with the Computer's own state; `undefined` for any other result. */
export function questionIn(
  result: object,
): Mcp.InputRequiredResult & { requestState: string } | undefined {
  const { resultType, inputRequests, requestState }: Record<
    string,
    unknown
  > = { ...result };
  const isQuestion = resultType === "input_required" &&
    isRecord(inputRequests) && typeof requestState === "string";
  if (!isQuestion) return undefined;
  return {
    resultType: "input_required",
    inputRequests: inputRequests as Mcp.InputRequests,
    requestState,
  };
}

const readResponses = (
  responses: Readonly<Record<string, unknown>>,
): Record<string, ElicitResult> =>
  Object.fromEntries(
    Object.entries(responses).map(([key, response]) => {
      try {
        return [key, parseElicitResult(response)];
      } catch (error) {
        throw invalidParams(`inputResponses.${key}: ${messageOf(error)}`);
      }
    }),
  );

/** Returns whether a result is a question to the client. */
export const isQuestion = (
  result: Mcp.CallToolResult | Mcp.InputRequiredResult,
): result is Mcp.InputRequiredResult => result.resultType === "input_required";
