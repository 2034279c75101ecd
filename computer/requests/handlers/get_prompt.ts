import {
  ErrorCode,
  type GET_PROMPT_EVENT,
  type GetPromptRet,
  parseGetPromptRet,
  ProtocolError,
} from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import {
  answerOf,
  askedServer,
  type AskedServerNeeds,
} from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** Gets a prompt of an MCP server, filled in. */
export const getPrompt: Handler<
  typeof GET_PROMPT_EVENT,
  AskedServerNeeds
> = async (
  { mcp_server, name, arguments: params = {}, timeout, req_id },
  { host },
) => {
  const connection = askedServer(host, mcp_server, "prompts");
  const { description, messages } = await answerOf(
    mcp_server,
    timeout,
    (signal) => connection.getPrompt(name, params, { signal }),
  );
  return checked(mcp_server, { description, messages, req_id });
};

/** @throws {ProtocolError} 500 naming the MCP server that answered with something else */
function checked(
  mcpServer: string,
  answer: { description: unknown; messages: unknown; req_id: string },
): GetPromptRet {
  const { description, ...rest } = answer;
  try {
    return parseGetPromptRet({
      ...rest,
      ...(description !== undefined && { description }),
    });
  } catch (error) {
    throw new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      `MCP server "${mcpServer}" answered with something that is not a prompt (${
        reasonOf(error)
      })`,
      { fields: { mcp_server: mcpServer }, cause: error },
    );
  }
}
