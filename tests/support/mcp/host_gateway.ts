import type { SmcpServerOptions } from "../../../server/mod.ts";
import type { SmcpComputerOptions } from "../../../computer/mod.ts";
import { mcpGateway, type McpGatewayOptions } from "../../../mcp/mod.ts";
import { type ComputerOffice, startComputer } from "../computer/computer.ts";
import { fixtureHere } from "../computer/fixture_here.ts";
import { GATEWAY_KEYS, gatewayKeys } from "./gateway.ts";

/** An office with a real Computer "pc", at a Server that serves it as an MCP server. */
export interface HostGateway extends ComputerOffice {
  /** Where MCP answers. */
  readonly url: URL;
}

/** What else it is started with. */
export interface HostGatewaySetup {
  /** MCP servers of the Computer, in place of the fixture as "fix". */
  readonly servers?: SmcpComputerOptions["servers"];
  /** The pages that may call; default none. */
  readonly origins?: SmcpServerOptions["origins"];
  /** Lets in only who has one of {@linkcode GATEWAY_KEYS}. */
  readonly keys?: boolean;
}

/** Starts it; the Agent "planner" has its hands off the seat. */
export async function startHostGateway(
  options: McpGatewayOptions = {},
  { servers = { fix: fixtureHere() }, keys = false, origins }:
    HostGatewaySetup = {},
): Promise<HostGateway> {
  const auth = (api_key: string) => keys ? { auth: { api_key } } : {};
  const running = await startComputer(servers, auth(GATEWAY_KEYS.computer), {
    server: {
      gateway: mcpGateway(options),
      ...(origins && { origins }),
      ...(keys && { authenticator: gatewayKeys() }),
    },
    agent: auth(GATEWAY_KEYS.ann),
  });
  await running.office.agent.leave();
  const url = new URL("/mcp/north", running.office.url);
  return { ...running, url };
}
