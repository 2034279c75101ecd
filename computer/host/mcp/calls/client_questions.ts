import type { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Questions, UnansweredError } from "./questions.ts";

/** The key of `_meta` with which an MCP server names its question. */
const KEY = "a2c-smcp/key";

/**
 * Receives the questions of one MCP server; its client must have declared that it can.
 *
 * @param inAnswers as {@linkcode Questions} has it
 */
export function questionsOf(client: Client, inAnswers?: boolean): Questions {
  const questions = new Questions(inAnswers);
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    if (params.mode === "url") throw new UnansweredError("no page is opened");
    const { message, requestedSchema, _meta: meta } = params;
    const key = keyOf(meta?.[KEY]);
    return questions.answer({ message, requestedSchema, key }, signal);
  });
  return questions;
}

const keyOf = (value: unknown): string | undefined =>
  typeof value === "string" && /^[A-Za-z][\w.-]{0,63}$/.test(value)
    ? value
    : undefined;
