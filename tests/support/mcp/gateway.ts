/**
 * Offices as MCP servers: by an Agent of this process, by a Server, and by `smcp-agent mcp`.
 *
 * @module
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SmcpAgent } from "../../../agent/mod.ts";
import type { SmcpComputerOptions } from "../../../computer/mod.ts";
import type { ConnectionOptions } from "../../../client/options.ts";
import {
  mcpGateway,
  type McpGatewayOptions,
  type OfficeMcp,
  officeMcp,
  type OfficeMcpOptions,
} from "../../../mcp/mod.ts";
import { areUsual } from "../../../mcp/http/quick_message.ts";
import { type OpenOffice, openOffice } from "../../../mcp/open_office.ts";
import { QuickDoor } from "../../../server/doors/quick_door.ts";
import { newServer } from "../../../server/http/listen.ts";
import { ProtocolError, type ToolCallReq } from "../../../protocol/mod.ts";
import { apiKeys, type SmcpServerOptions } from "../../../server/mod.ts";
import type { ComputerScript, ScriptedComputer } from "../../../testing/mod.ts";
import { argumentsOf } from "../command.ts";
import { type ComputerOffice, startComputer } from "../computer/computer.ts";
import { fixtureHere } from "../computer/fixture_here.ts";
import { OFFICE, type Office, startOffice } from "../office.ts";
import type { ChildCommand } from "./clients.ts";
import { modernRequest, post } from "./post.ts";

/** An office with a real Computer "pc" and its MCP servers, served as one MCP server over HTTP. */
export interface OfficeServed extends ComputerOffice {
  readonly mcp: OfficeMcp;
  readonly url: URL;
}

/** Starts all of it; by default the Computer has the fixture as MCP server "fix". */
export async function serveOffice({ mcp, servers, computer, office }: {
  readonly mcp?: OfficeMcpOptions;
  readonly servers?: Parameters<typeof startComputer>[0];
  readonly computer?: Parameters<typeof startComputer>[1];
  readonly office?: Parameters<typeof startComputer>[2];
} = {}): Promise<OfficeServed> {
  await using stack = new AsyncDisposableStack();
  const running = stack.use(
    await startComputer(servers ?? { fix: fixtureHere() }, computer, office),
  );
  const { agent } = running.office;
  const served = stack.use(officeMcp(agent, mcp));
  const opened = openOffice(agent, mcp ?? {});
  stack.defer(() => opened.close());
  // As the commands do it: `node:http` notices every client that goes.
  const server = newServer(listenerOf(opened.http), undefined, 10_000)
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  const kept = stack.move();
  return {
    ...running,
    mcp: served,
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Answers requests of an office as a Server does: usual ones by its quick door. */
function listenerOf(http: OpenOffice["http"]): Parameters<typeof newServer>[0] {
  const door: QuickDoor = new QuickDoor(
    {
      path: "",
      mayAnswer: areUsual,
      answer: (post, caller) => http.answer(post, caller),
    },
    { admit: () => Promise.resolve({ office: "" }), keep: () => {} },
    {
      hosts: undefined,
      publicUrl: undefined,
      proxies: 0,
      maxMessageBytes: 8 * 2 ** 20,
    },
  );
  return {
    fetch: (request, { incoming }) =>
      http.serve(request, {}, door.bodyOf(incoming)),
    before: door.before,
  };
}

/** How a client reaches an office in process, as somebody. */
export const inProcess = (mcp: OfficeMcp, principal?: string) => ({
  url: new URL("http://office/mcp"),
  fetch: (input: string | URL, init?: RequestInit) =>
    principal === undefined
      ? mcp.fetch(input, init)
      : mcp.handle(new Request(input, init), { principal }),
});

/** `smcp-agent mcp` as the program that an MCP client starts. */
export const pipeCommand = (
  url: string | URL,
  ...flags: readonly string[]
): ChildCommand => ({
  command: Deno.execPath(),
  args: argumentsOf("agent", [
    ...["mcp", "--url", new URL(url).origin, "--office", OFFICE],
    ...flags,
  ]),
});

/** Keys of two MCP users and a Computer. */
export const GATEWAY_KEYS = {
  ann: "ann-key-0123456789",
  bob: "bob-key-0123456789",
  computer: "computer-key-0123456789",
};

/** Admits the holders of {@linkcode GATEWAY_KEYS}. */
export const gatewayKeys = () =>
  apiKeys([
    { id: "ann", key: GATEWAY_KEYS.ann, roles: ["agent"] },
    { id: "bob", key: GATEWAY_KEYS.bob, roles: ["agent"] },
    { id: "pc", key: GATEWAY_KEYS.computer, roles: ["computer"] },
  ]);

/** A request with one of them. */
export const withKey = (
  key: string,
  { headers, body }: ReturnType<typeof modernRequest>,
) => ({ body, headers: { ...headers, "x-api-key": key } });

/** How a Server with MCP is started. */
export interface GatewaySetup {
  readonly gateway?: McpGatewayOptions;
  readonly server?: SmcpServerOptions;
  /** Admits only the holders of {@linkcode GATEWAY_KEYS}. */
  readonly keys?: boolean;
  /** MCP servers of the Computer; without them a script has `echo` and `slow`. */
  readonly servers?: SmcpComputerOptions["servers"];
  /** Answers the requests that are not for tools in the script. */
  readonly answer?: ComputerScript;
  /** How the Agent and the Computer connect. */
  readonly agent?: Partial<ConnectionOptions>;
  readonly computer?: Partial<ConnectionOptions>;
}

/** A Server that serves MCP, with a Computer "pc" in the office "north", and an Agent "planner" that has left it. */
export interface ServedGateway extends AsyncDisposable {
  readonly office: Office;
  readonly computer: Pick<ScriptedComputer, "leave" | "join">;
  /** Of the office as an MCP server. */
  readonly url: URL;
  /** Resolves once n calls of the script's `slow` run. */
  holds(count: number): Promise<void>;
  /** Answers all calls of `slow`. */
  release(): void;
}

/** Starts all of it. */
export async function startGateway(
  { gateway, server, keys = false, servers, answer, ...connections }:
    GatewaySetup = {},
): Promise<ServedGateway> {
  const auth = (api_key: string) => keys ? { auth: { api_key } } : {};
  const office = await startOffice({
    agent: { ...auth(GATEWAY_KEYS.ann), ...connections.agent },
    server: {
      ...(keys && { authenticator: gatewayKeys() }),
      gateway: mcpGateway(gateway),
      ...server,
    },
  });
  await office.agent.leave();
  const held: (() => void)[] = [];
  let wake = Promise.withResolvers<void>();
  const script: ComputerScript = (event, payload) => {
    if (event === "client:get_tools") return { tools: TOOLS, req_id: "1" };
    if (event !== "client:tool_call") {
      if (answer) return answer(event, payload);
      throw new ProtocolError(404, "not of this Computer");
    }
    const { tool_name, params } = payload as ToolCallReq;
    if (tool_name === "echo") return text(String(params.text));
    return new Promise((resolve) => {
      held.push(() => resolve(text("done")));
      wake.resolve();
      wake = Promise.withResolvers();
    });
  };
  const options = {
    ...auth(GATEWAY_KEYS.computer),
    ...connections.computer,
  };
  const computer = servers
    ? await office.addComputer("pc", { servers, ...options })
    : await office.addScriptedComputer("pc", script, options);
  return {
    office,
    computer,
    url: new URL("/mcp/north", office.url),
    async holds(count) {
      while (held.length < count) await wake.promise;
    },
    release: () => held.splice(0).forEach((answer) => answer()),
    [Symbol.asyncDispose]: () => office.close(),
  };
}

const text = (text: string) => ({ content: [{ type: "text", text }] });

const TOOLS = ["echo", "slow"].map((name) => ({
  name,
  description: `does ${name}`,
  params_schema: { type: "object" },
  return_schema: null,
}));

/** An Agent that has not joined an office yet. */
export async function agentAt(
  url: string,
  options: Partial<ConnectionOptions> = {},
): Promise<SmcpAgent> {
  const agent = new SmcpAgent({ url, name: "planner", ...options });
  await agent.connect();
  return agent;
}

/** Lists the tools of an office, without a session. */
export const listTools = ({ url }: Pick<ServedGateway, "url">) =>
  post(url, modernRequest("tools/list"));

/** A call of the tool `echo`, without a session. */
export const callEcho = (text: string) =>
  modernRequest("tools/call", { name: "pc__echo", arguments: { text } });
