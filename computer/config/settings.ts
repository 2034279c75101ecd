import type {
  MCPServerConfig,
  MCPServerStdioConfig,
  MCPServerStreamableHttpConfig,
  MCPSSEConfig,
} from "../../protocol/mod.ts";

/** A configuration whose fields with defaults are optional. */
export type Sparse<
  C extends MCPServerConfig,
  Required extends keyof C["server_parameters"],
> =
  & Partial<Omit<C, "type" | "server_parameters">>
  & {
    type: C["type"];
    server_parameters:
      & Partial<C["server_parameters"]>
      & Pick<C["server_parameters"], Required>;
  };

/** The configuration of an MCP server as users write it (spec §4). */
export type ServerSettings =
  | Sparse<MCPServerStdioConfig, "command">
  | Sparse<MCPServerStreamableHttpConfig, "url">
  | Sparse<MCPSSEConfig, "url">;
