import * as z from "../validation.ts";

/** A value that a form of MCP asks for. */
export type ElicitValue = string | number | boolean | string[];

/** What an MCP server asks a person, as in MCP. */
export interface ElicitParams {
  /** Absent for a form, too. */
  mode?: "form";
  /** The server's text for the person. */
  message: string;
  /** An object schema whose properties are simple values. */
  requestedSchema: Record<string, unknown>;
}

/** A page that an MCP server asks a person to open, as in MCP: what is entered there reaches the server alone. */
export interface ElicitUrlParams {
  /** Always `"url"`. */
  mode: "url";
  /** The server's text for the person: why to open it. */
  message: string;
  /** The address, of `http` or `https`; shown whole, and opened by the person alone. */
  url: string;
  /** The server's name for it, by which it reports that the person is done. */
  elicitationId?: string;
}

/** The answer to a question of an MCP server, as in MCP. */
export interface ElicitResult {
  /** Whether the person answered, refused, or dismissed the question. */
  action: "accept" | "decline" | "cancel";
  /** The values by field; only with `accept`. */
  content?: Record<string, ElicitValue> | null;
  /** Fields of later versions of MCP. */
  [field: string]: unknown;
}

/** What a request accepts that may be asked forms, and to open pages. */
export const ACCEPTS = {
  form: "input_required",
  url: "elicitation.url",
} as const;

/** What a request has for the questions of its MCP server: an extension of this package, which older Computers ignore. */
export interface QuestionFields {
  /**
   * With `input_required`, the MCP server may ask the caller: an answer with that `resultType`, with
   * `inputRequests` and `requestState`, is followed by the same request with another `req_id` and both
   * fields below. With `elicitation.url` it may ask to open a page, too.
   */
  accepts?: string[];
  /** The answers, under the keys of `inputRequests`. */
  input_responses?: Record<string, ElicitResult>;
  /** The `requestState` of the answer that asked. */
  request_state?: string;
}

const elicitResultSchema = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.maybe(
    z.mapOf(
      z.union([z.string(), z.number(), z.boolean(), z.listOf(z.string())]),
    ),
  ),
}) satisfies z.ZodMiniType<ElicitResult>;

/** Parses an {@linkcode ElicitResult}. */
export const parseElicitResult: z.Parser<ElicitResult> = z.parser(
  elicitResultSchema,
);

/** @internal */
export const questionShape = {
  accepts: z.exactOptional(z.listOf(z.string())),
  input_responses: z.exactOptional(z.mapOf(elicitResultSchema)),
  request_state: z.exactOptional(z.string()),
} as const;
