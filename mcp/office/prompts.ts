import type * as Mcp from "@modelcontextprotocol/server";
import { isRecord } from "../../protocol/names.ts";
import type { OfficeAgent } from "../office_agent.ts";
import { toRequestError } from "./failures.ts";
import { type CallQuestions, readQuestions } from "./questions.ts";
import { Turn } from "./turn.ts";
import { cutPage } from "./pages.ts";
import { listed } from "./resources.ts";
import type { Answers, ServerParts } from "./server_parts.ts";
import type { OfficePrompt } from "../resources/reads.ts";
import { skillPrompt } from "../resources/contents.ts";
import type { Links } from "../resources/links.ts";
import { type Naming, skillName, toolName } from "../tools/names.ts";
import { type ConfiguredServers, isShortName } from "../tools/servers.ts";
import { invalidParams, toMcpBlock } from "../tools/result.ts";
import { mendListed, mendMeta } from "../../protocol/mcp/mend.ts";
import { onAbort } from "../../shared/async.ts";
import { weigh } from "../../shared/json/values.ts";
import { Pace } from "../../shared/pace.ts";

/** Makes a server answer requests for prompts. */
export const answerPromptRequests: Answers = (server, parts) => {
  server.setRequestHandler("prompts/list", async ({ params }) => {
    const prompts = await listed(async () => {
      const table = await namedPrompts(parts, await parts.view.complete());
      return [...table].filter(([name, { shown }]) => name === shown.name)
        .map(([, { shown }]) => shown);
    });
    const { items, next } = cutPage(prompts, params?.cursor, weigh);
    return { prompts: items, ...next };
  });
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    const { name, arguments: filled = {} } = params;
    const agent = await parts.view.ready();
    const found = (await namedPrompts(parts, agent)).get(name);
    if (!found) throw invalidParams(`Unknown prompt: ${name}`);
    const turn = new Turn(server, context, parts);
    const questions = readQuestions(server, context, parts.states);
    const { links } = parts.view;
    try {
      return await getPrompt(agent, found, filled, { turn, questions, links });
    } catch (error) {
      throw toRequestError(error);
    }
  });
};

/** Gets a prompt of a Computer, or the question of its MCP server to the client. */
async function getPrompt(
  agent: OfficeAgent,
  { computer, skill, prompt: { mcp_server, name: own } }: NamedPrompt,
  filled: Record<string, string>,
  { turn, questions, links }: {
    readonly turn: Turn;
    readonly links: Links;
    readonly questions: CallQuestions | undefined;
  },
): Promise<Mcp.GetPromptResult | Mcp.InputRequiredResult> {
  return await turn.run({ computer, prompt: own }, async (
    request,
  ): Promise<Mcp.GetPromptResult | Mcp.InputRequiredResult> => {
    if (skill) return await skillPrompt(agent, computer, skill, request);
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
    const { description, _meta } = got;
    const place = { computer, server: mcp_server };
    return {
      messages: got.messages.map(({ role, content }) => ({
        role,
        content: links.show(toMcpBlock(content), place),
      })),
      ...(description !== undefined && { description }),
      ...(_meta && mendMeta({ _meta }, () => {})),
    };
  });
}

/** Returns the table of prompts of a view. */
export async function namedPrompts(
  { view, options: { nameLimit: limit, computer } }: ServerParts,
  agent: OfficeAgent,
): Promise<Map<string, NamedPrompt>> {
  const { reads, catalogue } = view;
  return await promptTable(
    await reads.prompts.list(agent, catalogue.computers),
    { limit, prefix: computer === undefined },
    (computer) => catalogue.serversOf(computer),
  );
}

/**
 * Names prompts by the rule of tools: each has a name that clients see, and always a whole one, with its
 * MCP server. A skill has no MCP server, and its name is never a prompt's, whichever of them is there
 * first. Of those that one MCP server gives the same name, clients see the first: no request could mean
 * another one.
 *
 * @param serversOf returns the MCP servers of a Computer's configuration, where they are known
 */
export async function promptTable(
  prompts: readonly OfficePrompt[],
  naming: Naming,
  serversOf: (computer: string) => ConfiguredServers | undefined,
): Promise<Map<string, NamedPrompt>> {
  const table = new Map<string, NamedPrompt>();
  const clashes = new Set<string>();
  const seen = new Set<string>();
  const pace = new Pace();
  for (const each of prompts) {
    if (pace.isDue) await pace.turn();
    const { computer, prompt, skill, isWhole } = each;
    const { name: own, mcp_server: server } = prompt;
    const key = JSON.stringify([computer, skill ? null : server, own]);
    if (seen.has(key)) continue;
    seen.add(key);
    const whole = skill
      ? skillName({ computer, own }, naming)
      : toolName({ computer, server, own }, naming);
    const isShort = !skill && !isWhole &&
      isShortName({ server, own }, serversOf(computer));
    const name = isShort ? toolName({ computer, own }, naming) : whole;
    const named = { ...each, shown: shownPrompt(each, name, naming) };
    for (const alias of new Set([name, whole])) {
      if (table.has(alias)) clashes.add(alias);
      table.set(alias, named);
    }
  }
  for (const name of clashes) table.delete(name); // as of tools
  return table;
}

/** A prompt as clients see it. */
export type NamedPrompt = OfficePrompt & { readonly shown: Mcp.Prompt };

function shownPrompt(
  { computer, prompt }: OfficePrompt,
  name: string,
  naming: Naming,
): Mcp.Prompt {
  // One Computer that is shown as itself needs no mention.
  const { mcp_server: _, arguments: params, ...rest } = prompt;
  const { title, description, ...others } = mendListed(rest, () => {});
  const text = [
    ...(naming.prefix ? [`[${computer}]`] : []),
    ...(typeof description === "string" ? [description] : []),
  ].join(" ");
  const suffix = naming.prefix ? ` (${computer})` : "";
  return {
    ...others,
    name,
    ...(typeof title === "string" && { title: `${title}${suffix}` }),
    ...(text && { description: text }),
    ...(Array.isArray(params) &&
      { arguments: params.filter(isRecord).flatMap(toArguments) }),
  };
}

function toArguments(argument: Record<string, unknown>): Mcp.PromptArgument[] {
  const { name, required, ...rest } = mendListed(argument, () => {});
  return typeof name !== "string" ? [] : [{
    ...rest,
    name,
    ...(typeof required === "boolean" && { required }),
  }];
}
