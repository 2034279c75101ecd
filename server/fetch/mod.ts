/**
 * The Server for platforms that call a `fetch` handler: `deno serve`, your own `Deno.serve`, Deno
 * Deploy. There it needs no listener of its own.
 *
 * ```ts
 * import { createFetchServer } from "@a2c-smcp/sdk/server/fetch";
 *
 * export default createFetchServer(); // deno serve --host 127.0.0.1 main.ts
 * ```
 *
 * Beside other handlers:
 *
 * ```ts
 * import { createFetchServer } from "@a2c-smcp/sdk/server/fetch";
 *
 * const smcp = createFetchServer({ paths: ["/smcp/"] });
 * Deno.serve({ hostname: "127.0.0.1", port: 0 }, (request, info) => {
 *   const { pathname } = new URL(request.url);
 *   return pathname === "/" ? new Response("My own page") : smcp.fetch(request, info);
 * });
 * ```
 *
 * Without an `authenticator` it serves requests of its own machine alone, whatever address the platform
 * listens on; `insecure: true` changes that.
 *
 * **When to use it.** Where `createSmcpServer()` of `@a2c-smcp/sdk/server` can listen by itself, prefer
 * that: this entry is cheaper for small messages only, and a platform's WebSocket keeps less of the
 * server's limits:
 *
 * - It cannot cut off a client that does not read. Nothing more is queued for it, its session ends and
 *   its place stays taken until it has gone, but what is queued stays in memory: up to
 *   `limits.queuedBytes` for each such client, of which an address may have
 *   `limits.connectionsPerAddress`.
 * - A message is collected whole before its size shows. One of more than `maxMessageBytes` ends its
 *   connection with 1009, after it came. The platform's own limit, if any, is the one that saves memory.
 * - There is no time limit for the headers of a request, or for a message that comes slowly.
 * - Unmasked frames are accepted, pings are answered without limit, and a violation of the protocol ends
 *   the connection without a close code.
 *
 * So on a public port put a proxy in front that limits sizes and times, or have the platform do so. All
 * other limits, rates and checks are those of `createSmcpServer()`, and so are MCP and the operator API.
 *
 * The whole page: [docs/edge.md](../../docs/edge.md).
 *
 * @module
 */
import "../../shared/check_runtime.ts";
import { deno } from "./deno.ts";
import { checkNames } from "../../shared/checks.ts";
import {
  FETCH_SERVER_NAMES,
  type FetchServer,
  type FetchServerOptions,
  newFetchServer,
} from "./fetch_server.ts";
export { ErrorCode, type ProtocolName, type Role } from "../../protocol/mod.ts";
export { type ApiKey, apiKeys, parseApiKeys } from "../auth/api_keys.ts";
export {
  anyOf,
  type Authenticator,
  type Credentials,
  type Refused,
} from "../auth/authenticator.ts";
export { jwt, type JwtKey, type JwtOptions } from "../auth/jwt.ts";
export type { ConnectOptions } from "../doors/in_process.ts";
export type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../../shared/in_process.ts";
export type { Identity, Policy } from "../shared/identity.ts";
export type { Limits } from "../limits/limits.ts";
export { createMetrics } from "../observe/prometheus.ts";
export type { CloseOptions } from "../options.ts";
export type { SmcpServerStats } from "../observe/metrics.ts";
export type { FetchServer, FetchServerOptions } from "./fetch_server.ts";
export type { FetchInfo } from "./deno.ts";

/**
 * Creates a server for Deno's `fetch` handlers: `createSmcpServer()` with the adapter `deno()`.
 *
 * @throws {TypeError} for options that cannot be kept there, and on a platform without
 * `Deno.upgradeWebSocket`
 *
 * @example
 * ```ts
 * import { createFetchServer } from "@a2c-smcp/sdk/server/fetch";
 *
 * const smcp = createFetchServer();
 * const server = Deno.serve({ hostname: "127.0.0.1", port: 0 }, smcp.fetch);
 * console.log(`Agents and Computers connect to port ${server.addr.port}`);
 *
 * await smcp.close();
 * await server.shutdown();
 * ```
 */
export const createFetchServer = (
  options: FetchServerOptions = {},
): FetchServer => {
  checkNames(options, FETCH_SERVER_NAMES, "createFetchServer()");
  return newFetchServer(options, deno());
};
