import type { MCPServerConfig } from "../../protocol/mod.ts";
import type { InProcessServerConfig } from "./server_config.ts";

/**
 * The configuration of an MCP server as users write it: fields with defaults are optional, which
 * leaves the `command` or the `url` (spec §4), and in programs the `server` of `in-process`.
 */
export type ServerSettings =
  | {
    [C in MCPServerConfig as C["type"]]:
      & Partial<Omit<C, "type" | "server_parameters">>
      & {
        type: C["type"];
        server_parameters:
          & Partial<C["server_parameters"]>
          & Pick<
            C["server_parameters"],
            Extract<keyof C["server_parameters"], "command" | "url">
          >;
      };
  }[MCPServerConfig["type"]]
  | Partial<InProcessServerConfig>
    & Pick<InProcessServerConfig, "type" | "server">;
