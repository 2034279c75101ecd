import type { MCPServerConfig } from "../../protocol/mod.ts";

/**
 * The configuration of an MCP server as users write it: fields with defaults are optional, which
 * leaves the `command` or the `url` (spec §4).
 */
export type ServerSettings = {
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
}[MCPServerConfig["type"]];
