import type { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Questions, UnansweredError } from "./questions.ts";

/** Receives the questions of one MCP server; its client must have declared that it can. */
export function questionsOf(client: Client): Questions {
  const questions = new Questions();
  client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
    if (params.mode === "url") throw new UnansweredError("no page is opened");
    const { message, requestedSchema } = params;
    return questions.answer({ message, requestedSchema }, signal);
  });
  return questions;
}
