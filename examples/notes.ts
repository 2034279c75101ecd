import { fileURLToPath } from "node:url";
import type { ServerSettings } from "@a2c-smcp/sdk/computer";

/** What Deno needs of the environment to find its packages; an MCP server gets little of it by itself. */
const names = ["DENO_DIR", "XDG_CACHE_HOME", "NPM_CONFIG_REGISTRY"];

/** How a Computer starts `notes_server.ts`; the examples host it. */
export const notes: ServerSettings = {
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: [
      "run",
      "-A",
      "--quiet",
      fileURLToPath(new URL("notes_server.ts", import.meta.url)),
    ],
    env: Object.fromEntries(names.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    })),
  },
};
