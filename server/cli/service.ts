import type { ServiceRole } from "../../cli/service/command.ts";
import { JWT_SECRET, type ServerFlags } from "./flags.ts";
import { addSettings, readSettings } from "./settings.ts";

/** The Server as a service. */
export const serverService: ServiceRole<ServerFlags> = {
  name: "smcp-server",
  summary: "A2C-SMCP Server: offices of agents and computers",
  example: "--port 8787",
  words: [],
  addFlags: addSettings,
  except: [],
  // A file of keys is named in the definition, the keys themselves are not.
  findSecret: (flag, text) =>
    flag === "--api-keys" && text.trimStart().startsWith("[")
      ? ["SMCP_API_KEYS", text]
      : undefined,
  permissions: ({ logFile }) => [
    ...["--allow-net", "--allow-env", "--allow-read"],
    ...(logFile === undefined ? [] : ["--allow-write"]),
  ],
  async check(flags, env, kept) {
    const { loadChecked } = await import("./serve.ts");
    loadChecked(readSettings(flags, { ...kept, ...env }));
    const secret = env[JWT_SECRET];
    return { variables: secret ? { [JWT_SECRET]: secret } : {}, notes: [] };
  },
};
