/**
 * The Server of A2C-SMCP: sessions, offices and routing between Agents and Computers.
 *
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer();
 * const { url } = await smcp.listen({ port: 0 });
 * console.log(`Agents and Computers connect to ${url}`);
 * ```
 *
 * On a public address, restrict which clients may connect, and what they may join as:
 *
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { apiKeys, createSmcpServer, parseApiKeys } from "@a2c-smcp/sdk/server";
 *
 * const text = (file: string) => readFileSync(file, "utf8");
 * const smcp = createSmcpServer({
 *   authenticator: apiKeys(parseApiKeys(text("keys.json"))),
 * });
 * await smcp.listen({
 *   hostname: "0.0.0.0",
 *   port: 8443,
 *   tls: { cert: text("cert.pem"), key: text("key.pem") },
 * });
 * ```
 *
 * Inside an existing Hono app and HTTP server:
 *
 * ```ts
 * import { createServer } from "node:http";
 * import { getRequestListener } from "@hono/node-server";
 * import { Hono } from "hono";
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * const smcp = createSmcpServer();
 * const app = new Hono();
 * app.get("/", (c) => c.text("My own page"));
 * app.route("/", smcp.app);
 *
 * const server = createServer(getRequestListener(app.fetch));
 * smcp.attach(server); // WebSocket upgrades
 * server.listen(8787, "127.0.0.1");
 * ```
 *
 * The contract with the other roles is in [docs/protocol.md](../docs/protocol.md).
 *
 * @module
 */
import "../shared/check_runtime.ts";

// The Server, and how it starts and ends.
export { createSmcpServer, type SmcpServer } from "./server.ts";
export type { CloseOptions, SmcpServerOptions } from "./options.ts";
export type {
  ListenAddress,
  ListenOptions,
  TlsOptions,
} from "./http/listen.ts";

// Who may connect, and as what.
export { type ApiKey, apiKeys, parseApiKeys } from "./auth/api_keys.ts";
export {
  anyOf,
  type Authenticator,
  type Credentials,
  type KeptKey,
  type Refused,
} from "./auth/authenticator.ts";
export type { SignInOption } from "./doors/sign_in.ts";
export type { ApprovalsOption } from "./doors/approvals.ts";
export { jwt, type JwtKey, type JwtOptions } from "./auth/jwt.ts";
export type { Identity, Policy } from "./shared/identity.ts";

// What clients may use of it, and what it notices of them.
export type { Limits } from "./limits/limits.ts";
export type { RefusalStage } from "./limits/limiter.ts";
export type { Heartbeat } from "./wire/mod.ts";
export type {
  Metrics,
  MetricsSource,
  SmcpServerStats,
} from "./observe/metrics.ts";
export { createMetrics } from "./observe/prometheus.ts";
export type {
  CallContext,
  CallSpan,
  CallTracer,
} from "./observe/watch_calls.ts";
export type { CallEnd, EndedBy } from "./shared/audit.ts";

// Clients of the same process, and other protocols that lead to offices.
export type { ConnectOptions } from "./doors/in_process.ts";
export type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../shared/in_process.ts";
export type {
  CallerGrant,
  CallSource,
  Gateway,
  GatewayBody,
  GatewayCaller,
  GatewayHost,
  GatewayPost,
  SeatUse,
} from "../shared/gateway.ts";
export type { ComputerChoice } from "../shared/computer_choice.ts";

// Several Servers as one.
export type {
  ClaimOutcome,
  Cluster,
  ClusterCounts,
  ClusterFigures,
  ClusterSource,
  ClusterStatus,
} from "./shared/cluster.ts";

// The Server behind another's HTTP: a Hono app, or a fetch handler.
export type { SmcpEnv } from "./http/http_app.ts";
export type {
  Adapter,
  Upgraded,
  UpgradeOptions,
} from "./fetch/fetch_requests.ts";
export type { FetchServer, FetchServerOptions } from "./fetch/fetch_server.ts";
export type { FetchInfo } from "./fetch/deno.ts";
export type { PlatformSocket } from "./wire/fetch_engine.ts";
export type { WsEngine } from "./shared/http.ts";

// Of the protocol, what its options and errors name.
export { ErrorCode, type ProtocolName, type Role } from "../protocol/mod.ts";
