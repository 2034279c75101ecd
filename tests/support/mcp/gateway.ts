import { mcpGateway, type McpGatewayOptions } from "../../../mcp/mod.ts";
import {
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../../protocol/mod.ts";
import {
  apiKeys,
  createSmcpServer,
  type ListenOptions,
  type SmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import {
  type ComputerScript,
  type ScriptedComputer,
  scriptedComputer,
} from "../../../testing/mod.ts";
import type { ConnectionOptions } from "../../../client/options.ts";
import { modernRequest, post } from "./post.ts";

/** What a Server with MCP is started with. */
export interface GatewaySetup {
  readonly gateway?: McpGatewayOptions;
  readonly server?: SmcpServerOptions;
  readonly listen?: ListenOptions;
  /** How the Computer connects. */
  readonly computer?: Partial<ConnectionOptions>;
  /** Answers what else than tools the Computer is asked for. */
  readonly answer?: ComputerScript;
}

/** A Server that serves MCP, with a Computer "pc" in the office "north" and no Agent. */
export interface ServedGateway extends AsyncDisposable {
  readonly server: SmcpServer;
  readonly computer: ScriptedComputer;
  /** Of the Server. */
  readonly base: string;
  /** Of the office as an MCP server. */
  readonly url: URL;
  /** Resolves once so many calls of `slow` run. */
  holds(count: number): Promise<void>;
  /** Answers all calls of `slow`. */
  release(): void;
}

/** Keys of two MCP users and a Computer. */
export const GATEWAY_KEYS = {
  ann: "ann-key-0123456789",
  bob: "bob-key-0123456789",
  computer: "computer-key-0123456789",
};

/** Lets in who has one of {@linkcode GATEWAY_KEYS}. */
export const gatewayKeys = () =>
  apiKeys([
    { id: "ann", key: GATEWAY_KEYS.ann, roles: ["agent"] },
    { id: "bob", key: GATEWAY_KEYS.bob, roles: ["agent"] },
    { id: "pc", key: GATEWAY_KEYS.computer, roles: ["computer"] },
  ]);

const TOOLS = ["echo", "slow"].map((name) => ({
  name,
  description: `does ${name}`,
  params_schema: { type: "object" },
  return_schema: null,
}));

const text = (text: string) => ({ content: [{ type: "text", text }] });

/** Starts all of it. */
export async function startGateway(
  setup: GatewaySetup = {},
): Promise<ServedGateway> {
  const server = createSmcpServer({
    ...setup.server,
    gateway: mcpGateway(setup.gateway),
  });
  const { url: base } = await server.listen(setup.listen);
  const held: (() => void)[] = [];
  const wake = new Set<() => void>();
  const computer = scriptedComputer({
    url: base,
    name: "pc",
    transports: ["websocket"],
    ...setup.computer,
    script: (event, payload) => {
      if (event === GET_TOOLS_EVENT) return { tools: TOOLS, req_id: "1" };
      if (event !== TOOL_CALL_EVENT) {
        if (setup.answer) return setup.answer(event, payload);
        throw new Error("not of this Computer");
      }
      const { tool_name, params } = payload as ToolCallReq;
      if (tool_name === "echo") return text(String(params.text));
      return new Promise((resolve) => {
        held.push(() => resolve(text("done")));
        for (const each of wake) each();
      });
    },
  });
  await computer.connect();
  await computer.join("north");
  return {
    server,
    computer,
    base,
    url: new URL("/mcp/north", base),
    async holds(count) {
      while (held.length < count) {
        await new Promise<void>((resolve) => wake.add(resolve));
      }
    },
    release: () => held.splice(0).forEach((answer) => answer()),
    async [Symbol.asyncDispose]() {
      await computer.close();
      await server.close({ graceMs: 0 });
    },
  };
}

/** Lists the tools of an office, without a session. */
export const listTools = ({ url }: Pick<ServedGateway, "url">) =>
  post(url, modernRequest("tools/list"));

/** A call of the tool `echo`, without a session. */
export const callEcho = (text: string) =>
  modernRequest("tools/call", { name: "pc__echo", arguments: { text } });
