import { fileURLToPath } from "node:url";
import type { SkillServerOptions } from "../fixtures/skill_server.ts";
import { fixture, type StdioSettings } from "./mcp_servers.ts";

const SERVER = fileURLToPath(
  new URL("../fixtures/skill_server.ts", import.meta.url),
);

/** An MCP server with skills, as a child process. */
export function skillServer(options: SkillServerOptions): StdioSettings {
  const { server_parameters, ...settings } = fixture();
  return {
    ...settings,
    server_parameters: {
      ...server_parameters,
      args: ["run", "-A", "--quiet", SERVER, JSON.stringify(options)],
    },
    default_tool_meta: { auto_apply: true },
  };
}

/** Writes a `SKILL.md`. */
export const skillText = (
  name: string,
  description: string,
  body = `# ${name}\n`,
): string => `---\nname: ${name}\ndescription: ${description}\n---\n${body}`;
