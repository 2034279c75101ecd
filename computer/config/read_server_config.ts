import type { ServerConfig } from "./server_config.ts";
import { readProgramConfig } from "./parse_config.ts";
import { ConfigError } from "./problem.ts";
import type { ServerSettings } from "./settings.ts";
import { vrlProblems } from "./vrl_problems.ts";

/**
 * Validates the configuration of an MCP server given in code (spec §4, §7.9).
 *
 * @throws {ConfigError} that lists every problem
 */
export async function readServerConfig(
  name: string,
  settings: ServerSettings,
): Promise<ServerConfig> {
  const { config, problems, places } = readProgramConfig({
    servers: { [name]: settings },
  });
  const all = [...problems, ...await vrlProblems(config.servers, places)];
  const [server] = config.servers;
  if (server && all.length === 0) return server;
  throw new ConfigError("configuration", all);
}
