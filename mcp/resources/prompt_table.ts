import type {
  Prompt as McpPrompt,
  PromptArgument,
} from "@modelcontextprotocol/server";
import type { Prompt } from "../../protocol/mod.ts";
import type { OfficePrompt } from "./reads.ts";
import { type Naming, toolName } from "../tools/names.ts";

/** What a prompt's name stands for. */
export interface NamedPrompt extends OfficePrompt {
  /** As clients see it. */
  readonly shown: McpPrompt;
}

/** Names prompts by the rule of tools; two of one name, such as of two MCP servers, get a hash. */
export function promptTable(
  prompts: readonly OfficePrompt[],
  naming: Naming,
): ReadonlyMap<string, NamedPrompt> {
  const table = new Map<string, NamedPrompt>();
  for (const each of prompts) {
    const { computer, prompt } = each;
    let name = toolName({ computer, tool: prompt.name }, naming);
    const whose = `${prompt.mcp_server} ${prompt.name}`;
    for (let attempt = 1; table.has(name); attempt++) {
      name = toolName({ computer, tool: whose }, naming, attempt);
    }
    // One Computer that is shown as itself needs no mention.
    const whereFrom = naming.prefix ? computer : undefined;
    const shown = shownAs(name, prompt, whereFrom);
    table.set(name, { ...each, shown });
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
