/**
 * An office of A2C-SMCP as one MCP server: any MCP client uses the tools of all Computers in it.
 *
 * Needs the package `@modelcontextprotocol/server` beside this one; runs in Deno and Node.
 *
 * ```ts
 * import { SmcpAgent } from "@a2c-smcp/sdk/agent";
 * import { officeMcp } from "@a2c-smcp/sdk/mcp";
 *
 * export async function toolsOf(url: string): Promise<string> {
 *   await using agent = new SmcpAgent({ url, name: "mcp" });
 *   await agent.connect();
 *   await agent.join("office-1");
 *   await using office = officeMcp(agent);
 *   const response = await office.fetch("http://office/mcp", {
 *     method: "POST",
 *     headers: {
 *       "content-type": "application/json",
 *       "accept": "application/json, text/event-stream",
 *     },
 *     body: JSON.stringify({
 *       jsonrpc: "2.0",
 *       id: 1,
 *       method: "initialize",
 *       params: {
 *         protocolVersion: "2025-11-25",
 *         capabilities: {},
 *         clientInfo: { name: "curl", version: "1" },
 *       },
 *     }),
 *   });
 *   return await response.text();
 * }
 * ```
 *
 * @module
 */
import "../shared/check_runtime.ts";
import process from "node:process";
import { abortable } from "../shared/async.ts";
import { checkNames } from "../shared/checks.ts";
import { loadPackages } from "../shared/packages.ts";
import type { SmcpAgent } from "../agent/mod.ts";
import { CALLER_NAMES, type McpCaller } from "./caller.ts";
import type { AgentProvider } from "./office/office_view.ts";
import {
  type McpGatewayOptions,
  type OfficeMcpOptions,
  resolveGatewayOptions,
  resolveOptions,
} from "./options.ts";
import type { HttpViews } from "./http/views.ts";
import { openOffice } from "./open_office.ts";
import { PIPE_NAMES, type PipeOptions, reachOf } from "./pipe/reach.ts";
import { McpGateway } from "./gateway.ts";
import type { Gateway, GatewayHost } from "../shared/gateway.ts";
import { toolFilter } from "./tools/filter.ts";
import {
  type StdioConnection,
  type StdioStreams,
  STREAM_NAMES,
} from "./office/stdio.ts";

export type {
  AgentProvider,
  Gateway,
  GatewayHost,
  McpCaller,
  McpGatewayOptions,
  OfficeMcpOptions,
  PipeOptions,
  StdioConnection,
  StdioStreams,
};
export type { Admitted, McpCall, ViewOptions } from "./options.ts";
export type {
  CallerGrant,
  CallSource,
  GatewayBody,
  GatewayCaller,
  GatewayPost,
  SeatUse,
} from "../shared/gateway.ts";
export type { ComputerChoice } from "../shared/computer_choice.ts";
export type { SmcpAgent, SmcpAgentOptions } from "../agent/mod.ts";
export type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../shared/in_process.ts";

/** An office as one MCP server, made by {@linkcode officeMcp}. */
export interface OfficeMcp extends AsyncDisposable {
  /** Answers HTTP requests of MCP, as the `fetch` of clients in this process: nothing is sent over a network. */
  readonly fetch: (
    input: string | URL | Request,
    init?: RequestInit,
  ) => Promise<Response>;
  /**
   * Answers an HTTP request of MCP that came over a network.
   *
   * The query of its URL chooses how the client sees the office, within the options given here:
   * `computer`, `include`, `exclude`, `tools`, `name-limit`, `timeout` in seconds, `lenient` and
   * `desktop-tools`, as in `?computer=laptop&tools=search`.
   *
   * The request's `signal` must be aborted when its client goes away, which is how calls are
   * cancelled: `@hono/node-server` does that, `Deno.serve` misses it for the first request of a
   * connection.
   */
  handle(request: Request, caller?: McpCaller): Promise<Response>;
  /** Serves the client that has started this process. */
  serveStdio(streams?: StdioStreams): StdioConnection;
  /** Asks for the Agent again, and notifies clients if they see something else now; for one that was not there yet. */
  refresh(): Promise<void>;
  /** Cancels all calls, and ends sessions and connections; the Agent stays as it is. */
  close(): Promise<void>;
}

/**
 * Makes an MCP server of the office that an Agent is in.
 *
 * The server speaks MCP 2026-07-28 and, in sessions, the revisions from 2024-11-05 to 2025-11-25. It
 * makes nothing of its own: tools are those of the Computers, and every call is one of the Agent's.
 *
 * @param agent in its office, or what gives it at each request
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function officeMcp(
  agent: SmcpAgent | AgentProvider,
  options: OfficeMcpOptions = {},
): OfficeMcp {
  const { http, serveStdio, refresh, close } = openOffice(agent, options);
  return {
    fetch: (input, init) => fetchFrom(http, new Request(input, init)),
    async handle(request, caller = {}) {
      checkNames(caller, CALLER_NAMES, "handle()");
      return await http.serve(request, caller);
    },
    serveStdio,
    refresh,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Makes the gateway of a Server that shows each of its offices as an MCP server at `/mcp/OFFICE`.
 *
 * It is the Agent of an office from the first request until the office was unused for a while; any
 * number of MCP clients share that seat.
 *
 * ```ts
 * import { mcpGateway } from "@a2c-smcp/sdk/mcp";
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer({ gateway: mcpGateway() });
 * const { url } = await smcp.listen();
 * console.log(`claude mcp add --transport http office ${url}/mcp/home`);
 * ```
 *
 * @returns the option `gateway` of a Server
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function mcpGateway(
  options: McpGatewayOptions = {},
): (host: GatewayHost) => Gateway {
  const resolved = resolveGatewayOptions(options);
  return (host) => new McpGateway(host, resolved, openOffice);
}

/**
 * Connects the program that has started this process with an office: its MCP messages go to
 * `/mcp/OFFICE` of the Server. Where that has no MCP, the seat of the office's Agent is taken.
 *
 * Any number of copies can run at once. None ends because the Server is away or the seat is taken:
 * the program sees no tools until then, and the reason in the instructions.
 *
 * @throws {TypeError} naming what cannot be used
 */
export function pipeOffice(
  options: PipeOptions,
  streams: StdioStreams = {},
): StdioConnection {
  checkNames(options, PIPE_NAMES, "pipeOffice()");
  checkNames(streams, STREAM_NAMES, "pipeOffice()");
  const { stdin = process.stdin, stdout = process.stdout } = streams;
  const { view } = options;
  const { include, exclude } = resolveOptions(view ?? {});
  toolFilter(include, exclude); // refuses what it cannot use
  const reach = reachOf(options);
  // No other part of this module needs a client of MCP.
  const pipe = loadPackages(
    "connect a program with an office",
    ["@modelcontextprotocol/client"],
    () => import("./pipe/pipe.ts"),
  ).then(({ Pipe }) => {
    const serve = (agent: AgentProvider) => officeMcp(agent, view);
    return new Pipe(options, { reach, serve, stdin, stdout });
  });
  return {
    closed: pipe.then(({ closed }) => closed),
    close: async () => await (await pipe).close(),
  };
}

/** Behaves as `fetch` does when its signal is aborted: what it has promised rejects, and its body ends. */
async function fetchFrom(http: HttpViews, request: Request): Promise<Response> {
  const { signal } = request;
  signal.throwIfAborted();
  const response = await abortable(http.serve(request, {}), signal);
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  // Ends the body with the signal, by which the server sees that its client is gone.
  const watched = body.pipeThrough(new TransformStream(), { signal });
  return new Response(watched, { status, statusText, headers });
}
