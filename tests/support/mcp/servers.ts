import type { GetComputerConfigRet } from "../../../protocol/mod.ts";

/** The answer to `client:get_config` of a Computer with some MCP servers. */
export const mcpServers = (
  ...ids: readonly string[]
): GetComputerConfigRet => ({
  inputs: [],
  servers: Object.fromEntries(ids.map((id) => [id, {
    type: "stdio" as const,
    name: id,
    bundle_id: id,
    disabled: false,
    forbidden_tools: [],
    tool_meta: {},
    server_parameters: {
      command: "x",
      args: [],
      env: null,
      cwd: null,
      encoding: "utf-8",
      encoding_error_handler: "strict" as const,
    },
  }])),
});
