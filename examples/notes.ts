import { fileURLToPath } from "node:url";
import type { ServerSettings } from "@a2c-smcp/sdk/computer";

/** The environment variables that Deno needs to find its packages; MCP servers get few by default. */
const names = ["DENO_DIR", "XDG_CACHE_HOME", "NPM_CONFIG_REGISTRY"];

/** The configuration of `notes_server.ts`, which the examples host. */
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
