import type { AgentEvents, SmcpAgent } from "../../../agent/mod.ts";
import type { FixtureOptions } from "../fixtures/mcp_fixture.ts";
import { fixture, type StdioSettings } from "./mcp_servers.ts";

/** The entries of `resources/list`, and the answers of `resources/read` by URI. */
interface Resources {
  resources?: Record<string, unknown>[];
  contents?: Exclude<FixtureOptions["contents"], undefined>;
}

/** MCP servers with windows and documents, in the order of the list; their tools begin with their names. */
export const resourceServers = (
  ...servers: ({ name: string; subscribe?: false } & Resources)[]
): Record<string, StdioSettings> =>
  Object.fromEntries(
    servers.map(({ name, subscribe, resources = [], contents = {} }) => [
      name,
      fixture({
        prefix: name,
        only: ["set", "subscribed", "leave"],
        resourceList: resources,
        contents,
        ...(subscribe === false && { resources: "list" }),
      }),
    ]),
  );

/** Gives a server of the Computer "pc" a new state, and makes it notify of the change. */
export async function set(
  agent: SmcpAgent,
  server: string,
  params: Resources & { tell?: "list" | string[] },
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
