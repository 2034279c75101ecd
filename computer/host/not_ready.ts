import type { ServerConfig } from "../config/server_config.ts";

/** An MCP server took too long to start. */
export class NotReadyError extends Error {
  /** Always `"NotReadyError"`. */
  override readonly name = "NotReadyError";

  /** Creates an error from the limit, in milliseconds. */
  constructor(config: ServerConfig, limitMs: number) {
    super(describe(config, limitMs));
  }
}

/** A child process often waits for the network, which it reaches with variables of its environment. */
function describe(config: ServerConfig, ms: number): string {
  const late = `it was not ready within ${ms / 1000} s`;
  if (config.type !== "stdio") return late;
  const lacking = config.server_parameters.inherit_env === false
    ? ', even of the variables for certificate authorities and proxies ("inherit_env" is false)'
    : "";
  return `${late} (its environment is reduced${lacking}: what it needs of this one belongs in its "env")`;
}
