import { fileURLToPath } from "node:url";
import type { AgentEvents, SmcpAgent } from "../../../agent/mod.ts";
import type {
  ResourceServerOptions,
  SetParams,
} from "../fixtures/resource_server.ts";
import { fixture, type StdioSettings } from "./mcp_servers.ts";

const SERVER = fileURLToPath(
  new URL("../fixtures/resource_server.ts", import.meta.url),
);

/** MCP servers with windows and documents, in the order of the list. */
export const resourceServers = (
  ...servers: ResourceServerOptions[]
): Record<string, StdioSettings> =>
  Object.fromEntries(servers.map((options) => {
    const { server_parameters, ...settings } = fixture();
    return [options.name, {
      ...settings,
      server_parameters: {
        ...server_parameters,
        args: ["run", "-A", "--quiet", SERVER, JSON.stringify(options)],
      },
    }];
  }));

/** Gives a server of the Computer "pc" a new state, and makes it notify of the change. */
export async function set(
  agent: SmcpAgent,
  server: string,
  params: SetParams,
): Promise<void> {
  await agent.callTool("pc", `${server}_set`, { ...params });
}

/** Resolves with the subscriptions at a server, when there are a number of them. */
export async function subscribed(
  agent: SmcpAgent,
  server: string,
  count: number,
): Promise<string[]> {
  const { content: [block] } = await agent.callTool(
    "pc",
    `${server}_subscribed`,
    { count },
  );
  return JSON.parse(String(block?.text)).toSorted();
}

/** Resolves at the next event of a kind. */
export function next(
  agent: SmcpAgent,
  event: keyof AgentEvents,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const off = agent.on(event, () => {
    off();
    resolve();
  });
  return promise;
}
