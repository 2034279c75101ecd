import { fileURLToPath } from "node:url";
import type { Script } from "../fixtures/scripted_server.ts";
import { DENO_ENV, type StdioSettings } from "./mcp_servers.ts";

const SERVER = fileURLToPath(
  new URL("../fixtures/scripted_server.ts", import.meta.url),
);

/** An MCP server over stdio that follows a script. */
export const scripted = (
  script: Script = {},
  more: Partial<StdioSettings> = {},
): StdioSettings => ({
  ...more,
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: ["run", "-A", "--quiet", SERVER, JSON.stringify(script)],
    ...more.server_parameters,
    env: { ...DENO_ENV, ...more.server_parameters?.env },
  },
});
