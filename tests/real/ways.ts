/**
 * The ways to published MCP servers: directly, as the Agent of an office, and as an MCP client of it.
 *
 * On each way the same is requested in the same order, and what arrives is returned as it is. In an office
 * each MCP server is at a Computer of its own, which has its name.
 *
 * @module
 */
import type { Client } from "@modelcontextprotocol/client";
import { assertEquals } from "@std/assert";
import { z } from "zod";
import type { SmcpAgent } from "../../agent/mod.ts";
import { mcpGateway } from "../../mcp/mod.ts";
import { placeOf, uriOf } from "../../mcp/resources/uris.ts";
import {
  ErrorCode,
  ownToolName,
  ProtocolError,
  type ProtocolName,
} from "../../protocol/mod.ts";
import { type Era, sdkClient } from "../support/mcp/clients.ts";
import { OFFICE, type Office, startOffice } from "../support/office.ts";
import {
  type Differences,
  FOR_AGENTS,
  nameOverMcp,
  OVER_MCP,
  OVER_MCP_2026,
  type Raw,
  type Seen,
} from "./by_design.ts";
import type { RealServer } from "./servers.ts";

/** The requests about one MCP server. */
interface Way {
  tools(): Promise<Raw[]>;
  prompts(): Promise<Raw[]>;
  resources(): Promise<Raw[]>;
  templates(): Promise<Raw[]>;
  call(name: string, args: Raw): Promise<Raw>;
  fill(name: string, args: Readonly<Record<string, string>>): Promise<Raw>;
  read(uri: string): Promise<Raw[]>;
}

/** Makes all requests about an MCP server. */
async function look(way: Way, server: RealServer): Promise<Seen> {
  const { calls, prompts = [], reads = [] } = server;
  return {
    tools: await way.tools(),
    prompts: await way.prompts(),
    resources: await way.resources(),
    templates: await way.templates(),
    calls: await inOrder(calls, ([name, args]) => way.call(name, args)),
    filled: await inOrder(prompts, ([name, args]) => way.fill(name, args)),
    contents: (await inOrder(reads, (uri) => way.read(uri))).flat(),
  };
}

async function inOrder<T, R>(
  items: readonly T[],
  request: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await request(item));
  return results;
}

/** Starts MCP servers, makes all requests, and ends them; returns what came, by their names. */
export type Look = (
  servers: readonly RealServer[],
) => Promise<ReadonlyMap<string, Seen>>;

/** A way through an office. */
export interface OfficeWay {
  /** Its name, behind that of an MCP server. */
  readonly name: string;
  readonly look: Look;
  readonly differences: Differences;
  /** Whether tools have the `bundle_id` in their names: from the protocol 0.3 on. */
  readonly prefixed: boolean;
}

/** The ways through an office. */
export const WAYS: readonly OfficeWay[] = [
  {
    name: "as an Agent of 0.4 gets it",
    look: asAgent,
    differences: FOR_AGENTS,
    prefixed: true,
  },
  {
    name: "over MCP 2025-11-25, with 0.2 inside",
    look: overMcp("2025", "0.2"),
    differences: OVER_MCP,
    prefixed: false,
  },
  {
    name: "over MCP 2026-07-28, with 0.4 inside",
    look: overMcp("2026", "0.4"),
    differences: OVER_MCP_2026,
    prefixed: true,
  },
];

/** Answers the questions of MCP servers. */
const decline = () => ({ action: "decline" as const });

/** Looks at MCP servers with the SDK's client. */
export const directly: Look = async (servers) => {
  const seen = await Promise.all(servers.map(async (server) => {
    const { command, args, env } = server.settings.server_parameters;
    const reach = { command, args: args ?? [], env: env ?? {} };
    await using client = await sdkClient(reach, "2025", decline);
    return [server.name, await look(directWay(client), server)] as const;
  }));
  return new Map(seen);
};

const directWay = (client: Client): Way => ({
  tools: () => listAll(client, "tools"),
  prompts: () => listAll(client, "prompts"),
  resources: () => listAll(client, "resources"),
  templates: () => listAll(client, "resources/templates"),
  call: (name, args) => request(client, "tools/call", callOf(name, args)),
  fill: (name, args) => request(client, "prompts/get", callOf(name, args)),
  read: async (uri) =>
    (await request(client, "resources/read", { uri })).contents as Raw[],
});

const callOf = (name: string, args: Raw) => ({ name, arguments: args });

/** Makes a request, whose result is not validated. */
const request = async (
  client: Client,
  method: string,
  params: Record<string, unknown>,
): Promise<Raw> => await client.request({ method, params }, z.looseObject({}));

/** Where each list is in its result. */
const LISTS = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  "resources/templates": "resourceTemplates",
} as const;

/** Lists all pages; nothing of a server without the capability. */
async function listAll(
  client: Client,
  list: keyof typeof LISTS,
): Promise<Raw[]> {
  const capabilities: Raw = { ...client.getServerCapabilities() };
  if (!capabilities[list.replace(/\/.*/, "")]) return [];
  const all: Raw[] = [];
  let cursor: unknown;
  do {
    const page = await request(client, `${list}/list`, {
      ...(cursor !== undefined && { cursor }),
    });
    all.push(...page[LISTS[list]] as Raw[]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

/** Looks at the same MCP servers of an office with its Agent. */
async function asAgent(
  servers: readonly RealServer[],
): Promise<Map<string, Seen>> {
  await using office = await officeWith(servers, "0.4");
  const seen = new Map<string, Seen>();
  for (const server of servers) {
    seen.set(server.name, await look(agentWay(office.agent, server), server));
  }
  return seen;
}

function agentWay(agent: SmcpAgent, { name: computer }: RealServer): Way {
  const tools = () => agent.getTools(computer);
  return {
    tools: async () => (await tools()).map((tool) => ({ ...tool })),
    prompts: () => agent.getPrompts(computer),
    resources: () =>
      Array.fromAsync(agent.allResources(computer, computer))
        .catch(noneIfUnsupported),
    templates: () => agent.getResourceTemplates(computer),
    async call(name, args) {
      const named = (await tools()).find((tool) => ownToolName(tool) === name);
      const { name: whole = name } = named ?? {};
      return { ...await agent.callTool(computer, whole, { ...args }) };
    },
    async fill(name, args) {
      const { req_id: _ofTheRequest, ...filled } = await agent.getPrompt(
        computer,
        computer,
        name,
        { arguments: args },
      );
      return filled;
    },
    read: async (uri) => {
      const contents = await agent.readResource(computer, computer, uri);
      return contents.map((each) => ({ ...each }));
    },
  };
}

function noneIfUnsupported(error: unknown): [] {
  const isUnsupported = error instanceof ProtocolError &&
    error.code === ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED;
  if (isUnsupported) return [];
  throw error;
}

/** Looks at the same MCP servers of an office with the SDK's client. */
function overMcp(era: Era, protocol: ProtocolName) {
  return async (
    servers: readonly RealServer[],
  ): Promise<Map<string, Seen>> => {
    await using office = await officeWith(servers, protocol);
    await office.agent.leave();
    const url = new URL(`/mcp/${OFFICE}`, office.url);
    await using client = await sdkClient({ url }, era);
    const seen = new Map<string, Seen>();
    for (const server of servers) {
      seen.set(server.name, await look(mcpWay(client, server.name), server));
    }
    return seen;
  };
}

function mcpWay(client: Client, computer: string): Way {
  const direct = directWay(client);
  const uriAt = (uri: string) =>
    uriOf({ kind: "resource", computer, server: computer, uri });
  return {
    tools: async () =>
      (await direct.tools()).filter(({ _meta }) =>
        (_meta as Raw)["a2c-smcp/computer"] === computer
      ),
    prompts: async () =>
      (await direct.prompts()).filter(({ name }) =>
        String(name).startsWith(nameOverMcp(computer, ""))
      ),
    resources: async () =>
      (await direct.resources()).filter(({ uri }) => {
        const place = placeOf(String(uri));
        // The others are what Computers have themselves, such as desktops.
        return place?.kind === "resource" && place.computer === computer;
      }),
    templates: async () =>
      (await direct.templates()).filter(({ uriTemplate }) =>
        String(uriTemplate).startsWith(`a2c://${computer}/`)
      ),
    call: (name, args) => direct.call(nameOverMcp(computer, name), args),
    fill: (name, args) => direct.fill(nameOverMcp(computer, name), args),
    read: (uri) => direct.read(uriAt(uri)),
  };
}

/** Starts an office with a Computer for each MCP server. */
async function officeWith(
  servers: readonly RealServer[],
  protocol: ProtocolName,
): Promise<Office> {
  const office = await startOffice({
    server: { gateway: mcpGateway(), protocol },
  });
  try {
    await Promise.all(servers.map(async (server) => {
      const { name } = server;
      const computer = await office.addComputer(name, {
        servers: { [name]: server.settings },
        elicit: decline,
      });
      const [status] = computer.status().servers;
      assertEquals([status?.state, status?.error], ["running", undefined]);
    }));
    return office;
  } catch (error) {
    await office.close();
    throw error;
  }
}
