import {
  type GetPromptResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { onAbort } from "../../shared/async.ts";
import { questionsOf } from "../calls/questions.ts";
import { callerOf, type Cancelled, inTurn, signalOf } from "../calls/turn.ts";
import type { ServerParts } from "./server_parts.ts";
import { listed } from "./resource_requests.ts";
import { messageOf } from "../tools/result.ts";
import { skillPrompt } from "../resources/skills.ts";
import { promptTable } from "../resources/prompt_table.ts";

/** Makes a server answer what is asked about prompts. */
export function answerPromptRequests(
  server: Server,
  { view, queue, options, states }: ServerParts,
  cancelled: Cancelled,
): void {
  const { nameLimit: limit, computer } = options;
  const table = async (agent: SmcpAgent) =>
    promptTable(
      await view.reads.prompts.list(agent, view.catalogue.computers),
      { limit, prefix: computer === undefined },
    );
  server.setRequestHandler("prompts/list", async () => ({
    prompts: await listed(async () =>
      [...(await table(await view.ready())).values()]
        .map(({ shown }) => shown)
    ),
  }));
  server.setRequestHandler(
    "prompts/get",
    async ({ params }, context) => {
      const { name, arguments: filled = {} } = params;
      const agent = await view.ready();
      const found = (await table(agent)).get(name);
      if (!found) throw invalid(`Unknown prompt: ${name}`);
      const { computer, skill, prompt: { mcp_server, name: own } } = found;
      const signal = signalOf(context.mcpReq, cancelled);
      const caller = callerOf(server, context);
      const questions = questionsOf(server, context, states);
      try {
        return await inTurn(
          { computer, prompt: own },
          { queue, options, signal, caller },
          async (reqId): Promise<GetPromptResult | InputRequiredResult> => {
            if (skill) {
              return await skillPrompt(agent, computer, skill, {
                signal,
                reqId,
              });
            }
            const got = await agent.getPrompt(computer, mcp_server, own, {
              arguments: filled,
              signal,
              reqId,
              ...(questions && { input: questions.input }),
            });
            const question = await questions?.toQuestion({ ...got });
            if (question) {
              const cancel = () => agent.cancel(reqId);
              if (questions?.isHeld) onAbort(signal, cancel);
              return question;
            }
            const { messages, description } = got;
            return {
              messages: messages as GetPromptResult["messages"],
              ...(description !== undefined && { description }),
            };
          },
        );
      } catch (error) {
        throw invalid(messageOf(error));
      }
    },
  );
}

const invalid = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);
