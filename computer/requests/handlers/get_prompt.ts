import {
  ErrorCode,
  type GET_PROMPT_EVENT,
  type GetPromptReq,
  type GetPromptRet,
  parseGetPromptRet,
  ProtocolError,
} from "../../../protocol/mod.ts";
import { onAbort } from "../../../shared/async.ts";
import {
  type Dialogue,
  type Dialogues,
  INPUT_REQUIRED,
} from "../../tools/elicit/dialogues.ts";
import type { Elicitations } from "../../tools/elicit/elicitations.ts";
import { reasonOf } from "../../util/values.ts";
import {
  answerOf,
  askedServer,
  type AskedServerNeeds,
} from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getPrompt} needs. */
export interface GetPromptNeeds extends AskedServerNeeds {
  /** Answers questions of MCP servers. */
  readonly elicitations: Pick<Elicitations, "ask" | "canAsk">;
  /** Passes questions on to Agents that accept them. */
  readonly dialogues: Pick<Dialogues, "begin" | "resume">;
}

/** Gets a prompt of an MCP server, filled in; the server may ask for what is missing. */
export const getPrompt: Handler<typeof GET_PROMPT_EVENT, GetPromptNeeds> =
  async (request, needs) => {
    const { mcp_server, timeout, req_id } = request;
    const dialogue = dialogueOf(request, needs);
    const turn = await answerOf(mcp_server, timeout, (signal) => {
      onAbort(signal, () => dialogue.abort("timeout"));
      return dialogue.next;
    });
    if ("question" in turn) return { ...turn.question, messages: [], req_id };
    const { description, messages } = turn.result;
    return checked(mcp_server, { description, messages, req_id });
  };

/** @throws {ProtocolError} as {@linkcode askedServer}, and 400: there is no such question */
function dialogueOf(
  request: GetPromptReq,
  { host, elicitations, dialogues }: GetPromptNeeds,
): Dialogue<Record<string, unknown>> {
  const { computer, agent, mcp_server, name, arguments: params = {} } = request;
  const about = JSON.stringify([computer, mcp_server, name, params]);
  const asked = { ...request, about };
  if (request.request_state !== undefined) return dialogues.resume(asked);
  const connection = askedServer(host, mcp_server, "prompts");
  const server = host.names.at(mcp_server)?.view.name ?? mcp_server;
  const passesOn = request.accepts?.includes(INPUT_REQUIRED) &&
    !elicitations.canAsk;
  return dialogues.begin(
    asked,
    (signal, answer) =>
      connection.getPrompt(name, params, {
        signal,
        answer: passesOn ? answer : (question, context) =>
          elicitations.ask(
            { server, agent },
            question,
            context,
          ),
      }),
  );
}

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
