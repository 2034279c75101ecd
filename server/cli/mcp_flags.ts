import { Option } from "commander";
import { integer } from "../../cli/integer.ts";
import { UsageError } from "../../cli/run.ts";
import { loadPackages } from "../../shared/packages.ts";
import type { SmcpServerOptions } from "../mod.ts";
import type { SecuritySettings } from "./security_flags.ts";

/** Whether offices are served as MCP servers, and how. */
export interface McpSettings {
  /** Whether they are. */
  readonly isServed: boolean;
  /** Milliseconds without a request after which the seat in an office is given up; absent for the default. */
  readonly seatIdleMs?: number;
}

/** What commander makes of {@linkcode mcpOptions}. */
export interface McpFlags {
  readonly mcp?: true;
  readonly mcpIdleSeconds?: number;
}

/** Loads `mcpGateway` of the room `mcp`. */
export type LoadMcp = () => Promise<
  (
    options: { seatIdleMs?: number },
  ) => NonNullable<SmcpServerOptions["gateway"]>
>;

const DAY_SECONDS = 86_400;

/** The options of the command about MCP. */
export const mcpOptions = (): Option[] => [
  new Option(
    "--mcp",
    "serve each office as an MCP server at /mcp/OFFICE, to those that may join it as agent",
  ).env("SMCP_MCP"),
  new Option(
    "--mcp-idle-seconds <number>",
    "seconds without a request or an open stream after which MCP gives up an office's seat for an agent (default: 60)",
  ).env("SMCP_MCP_IDLE_SECONDS").argParser(integer(1, DAY_SECONDS)),
];

/**
 * Reads what commander made of {@linkcode mcpOptions}.
 *
 * @throws {UsageError} for a time that nothing uses
 */
export function readMcp({ mcp, mcpIdleSeconds }: McpFlags): McpSettings {
  if (mcpIdleSeconds !== undefined && mcp !== true) {
    throw new UsageError("--mcp-idle-seconds does nothing without --mcp");
  }
  return {
    isServed: mcp === true,
    ...(mcpIdleSeconds !== undefined && { seatIdleMs: mcpIdleSeconds * 1000 }),
  };
}

/** Loads what serves MCP, if it is asked for. */
export async function loadGateway(
  { mcp: { isServed, ...options }, jwt: { issuer } }:
    & { readonly mcp: McpSettings }
    & Pick<SecuritySettings, "jwt">,
  load: LoadMcp,
): Promise<Pick<SmcpServerOptions, "gateway" | "authorizationServers">> {
  if (!isServed) return {};
  const gateway = await loadPackages(
    "serve MCP",
    ["@modelcontextprotocol/server"],
    load,
  );
  return {
    gateway: gateway(options),
    // An issuer can be any text, and clients can ask only one that is a URL.
    ...(issuer !== undefined && URL.canParse(issuer) &&
      /^https?:/i.test(issuer) && { authorizationServers: [issuer] }),
  };
}
