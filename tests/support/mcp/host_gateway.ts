import { mcpGateway } from "../../../mcp/mod.ts";
import { type ComputerOffice, startComputer } from "../computer/computer.ts";
import { fixture } from "../computer/mcp_servers.ts";

/** An office with a real Computer "pc", at a Server that serves it as an MCP server. */
export interface HostGateway extends ComputerOffice {
  /** Where MCP answers. */
  readonly url: URL;
}

/** Starts it, with the fixture as MCP server "fix"; the Agent "planner" has its hands off the seat. */
export async function startHostGateway(
  options: Parameters<typeof mcpGateway>[0] = {},
): Promise<HostGateway> {
  const running = await startComputer({ fix: fixture() }, {}, {
    server: { gateway: mcpGateway(options) },
  });
  await running.office.agent.leave();
  const url = new URL("/mcp/north", running.office.url);
  return { ...running, url };
}
