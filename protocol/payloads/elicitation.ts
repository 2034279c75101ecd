import * as z from "../validation/schema.ts";
import { listOf, mapOf, maybe } from "../validation/plain_values.ts";
import { type Parser, parser } from "../validation/parser.ts";

/** A value that a form of MCP asks for. */
export type ElicitValue = string | number | boolean | string[];

/** What an MCP server asks a person, as in MCP. */
export interface ElicitParams {
  /** Only forms are passed on. */
  mode?: "form";
  /** The server's text for the person. */
  message: string;
  /** An object schema whose properties are simple values. */
  requestedSchema: Record<string, unknown>;
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

/** @internal */
export const elicitResultSchema = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: maybe(
    mapOf(
      z.union([z.string(), z.number(), z.boolean(), listOf(z.string())]),
    ),
  ),
}) satisfies z.ZodMiniType<ElicitResult>;

/** Parses an {@linkcode ElicitResult}. */
export const parseElicitResult: Parser<ElicitResult> = parser(
  elicitResultSchema,
);
