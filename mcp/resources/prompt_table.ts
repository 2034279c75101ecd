import type { Prompt as McpPrompt } from "@modelcontextprotocol/server";
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
  for (const { computer, prompt } of prompts) {
    let name = toolName(computer, prompt.name, naming);
    const whose = `${prompt.mcp_server} ${prompt.name}`;
    for (let attempt = 1; table.has(name); attempt++) {
      name = toolName(computer, whose, naming, attempt);
    }
    const shown = shownAs(name, computer, prompt);
    table.set(name, { computer, prompt, shown });
  }
  return table;
}

function shownAs(
  name: string,
  computer: string,
  { title, description, arguments: params }: Prompt,
): McpPrompt {
  const fields = Array.isArray(params) ? params : [];
  const text = typeof description === "string" ? ` ${description}` : "";
  return {
    name,
    ...(typeof title === "string" && { title: `${title} (${computer})` }),
    description: `[${computer}]${text}`,
    arguments: fields.flatMap(({ name, description, required }) =>
      typeof name !== "string" ? [] : [{
        name,
        ...(typeof description === "string" && { description }),
        ...(typeof required === "boolean" && { required }),
      }]
    ),
  };
}
