import {
  type GetPromptResult,
  type InputRequiredResult,
  type Prompt as McpPrompt,
  type PromptArgument,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { questionsOf } from "./questions.ts";
import { turnOf } from "./turn.ts";
import { listed } from "./resources.ts";
import type { ServerParts } from "./server.ts";
import type { OfficePrompt } from "../resources/reads.ts";
import { skillPrompt } from "../resources/shelf.ts";
import { type Naming, toolName } from "../tools/names.ts";
import { messageOf } from "../tools/result.ts";
import type { Prompt } from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";

/** Makes a server answer what is asked about prompts. */
export function answerPromptRequests(
  server: Server,
  parts: ServerParts,
): void {
  const { view, states, options: { nameLimit: limit, computer } } = parts;
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
      const turn = turnOf(server, context, parts);
      const questions = questionsOf(server, context, states);
      type Got = GetPromptResult | InputRequiredResult;
      try {
        return await turn.run(
          { computer, prompt: own },
          async (request): Promise<Got> => {
            if (skill) {
              return await skillPrompt(agent, computer, skill, request);
            }
            const got = await agent.getPrompt(computer, mcp_server, own, {
              arguments: filled,
              ...request,
              ...(questions && { input: questions.input }),
            });
            const question = await questions?.toQuestion(
              got,
              () => onAbort(turn.signal, () => agent.cancel(request.reqId)),
            );
            if (question) return question;
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

/** Names prompts by the rule of tools; two of one name, such as of two MCP servers, get a hash. */
function promptTable(prompts: readonly OfficePrompt[], naming: Naming) {
  const table = new Map<string, OfficePrompt & { shown: McpPrompt }>();
  for (const each of prompts) {
    const { computer, prompt } = each;
    let name = toolName({ computer, tool: prompt.name }, naming);
    const whose = `${prompt.mcp_server} ${prompt.name}`;
    for (let attempt = 1; table.has(name); attempt++) {
      name = toolName({ computer, tool: whose }, naming, attempt);
    }
    // One Computer that is shown as itself needs no mention.
    const whereFrom = naming.prefix ? computer : undefined;
    table.set(name, { ...each, shown: shownAs(name, prompt, whereFrom) });
  }
  return table;
}

function shownAs(
  name: string,
  { title, description, arguments: params }: Prompt,
  computer: string | undefined,
): McpPrompt {
  const text = [
    ...(computer === undefined ? [] : [`[${computer}]`]),
    ...(typeof description === "string" ? [description] : []),
  ].join(" ");
  const suffix = computer === undefined ? "" : ` (${computer})`;
  return {
    name,
    ...(typeof title === "string" && { title: `${title}${suffix}` }),
    ...(text && { description: text }),
    ...(Array.isArray(params) && { arguments: params.flatMap(fieldOf) }),
  };
}

const fieldOf = (
  { name, description, required }: Record<string, unknown>,
): PromptArgument[] =>
  typeof name !== "string" ? [] : [{
    name,
    ...(typeof description === "string" && { description }),
    ...(typeof required === "boolean" && { required }),
  }];
