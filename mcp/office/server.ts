import { Server } from "@modelcontextprotocol/server";
import { PROTOCOL_VERSION } from "../../protocol/mod.ts";
import type { Cancelled } from "../calls/turn.ts";
import { answerCompletionRequests } from "./completion_requests.ts";
import { answerPromptRequests } from "./prompt_requests.ts";
import { answerResourceRequests } from "./resource_requests.ts";
import { messageOf } from "../tools/result.ts";
import { instructionsOf } from "./instructions.ts";
import type { ServerParts } from "./server_parts.ts";
import { answerToolRequests } from "./tool_requests.ts";

/**
 * Makes the MCP server of one request, one session or one connection over stdio: its state is all in
 * the parts, and making it has no effect.
 *
 * @param cancelled cancels all that it does
 */
export async function createOfficeServer(
  parts: ServerParts,
  cancelled?: Cancelled,
): Promise<Server> {
  const server = new Server(
    { name: "a2c-smcp", version: PROTOCOL_VERSION },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        completions: {},
      },
      instructions: await instructions(parts),
      requestState: { verify: parts.states.verify },
    },
  );
  answerToolRequests(server, parts, cancelled);
  answerResourceRequests(server, parts, cancelled);
  answerPromptRequests(server, parts, cancelled);
  answerCompletionRequests(server, parts);
  return server;
}

async function instructions(
  { view, options }: ServerParts,
): Promise<string> {
  try {
    await view.ready();
  } catch (error) {
    return `No tools can be used now: ${messageOf(error)}`;
  }
  const { computers, tools } = view.catalogue;
  return instructionsOf({
    office: view.office,
    computers,
    tools,
    troubles: view.troubles,
    only: options.computer,
    nameLimit: options.nameLimit,
    searching: options.tools === "search",
  });
}
