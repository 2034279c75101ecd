import type {
  GET_CONFIG_EVENT,
  MCPServerInput,
} from "../../../protocol/mod.ts";
import { redactConfig } from "../../config/redact.ts";
import type { McpHost } from "../../host/host.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getConfig} needs. */
export interface GetConfigNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "configs" | "names">;
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
}

/** Returns the configuration without secrets (spec §7). */
export const getConfig: Handler<typeof GET_CONFIG_EVENT, GetConfigNeeds> = (
  _request,
  { host, inputs },
) => redactConfig(host.configs, inputs, host.names);
