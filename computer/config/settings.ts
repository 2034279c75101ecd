import type {
  MCPServerConfig,
  MCPServerStdioConfig,
  MCPServerStreamableHttpConfig,
  MCPSSEConfig,
} from "../../protocol/mod.ts";

/** A configuration in which everything that has a default may be left out. */
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

/** How to host one MCP server, as a person writes it (spec §4). */
export type ServerSettings =
  | Sparse<MCPServerStdioConfig, "command">
  | Sparse<MCPServerStreamableHttpConfig, "url">
  | Sparse<MCPSSEConfig, "url">;
