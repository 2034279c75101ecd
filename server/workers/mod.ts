/**
 * The Server on Cloudflare Workers: the Worker is the door, Durable Objects of the class `Front` hold the
 * sessions, and each office is one of the class `Office`.
 *
 * ```ts
 * import { apiKeys, parseApiKeys, smcpWorker } from "@a2c-smcp/sdk/server/workers";
 *
 * const { worker, Front, Office } = smcpWorker((env: { SMCP_KEYS: string }) => ({
 *   authenticator: apiKeys(parseApiKeys(env.SMCP_KEYS)),
 * }));
 * export { Front, Office, worker as default };
 * ```
 *
 * `wrangler.jsonc` binds the classes as `FRONT` and `OFFICE`; `examples/cloudflare` has all that is needed.
 *
 * @module
 */
import "../../shared/check_runtime.ts";

export { ErrorCode, type ProtocolName, type Role } from "../../protocol/mod.ts";
export { type ApiKey, apiKeys, parseApiKeys } from "../auth/api_keys.ts";
export {
  anyOf,
  type Authenticator,
  type Credentials,
  type Refused,
} from "../auth/authenticator.ts";
export { jwt, type JwtKey, type JwtOptions } from "../auth/jwt.ts";
export type {
  Adapter,
  Upgraded,
  UpgradeOptions,
} from "../fetch/fetch_requests.ts";
export type { PlatformSocket } from "../wire/fetch_engine.ts";
export type { Limits } from "../limits/limits.ts";
export { createMetrics } from "../observe/prometheus.ts";
export type { Identity, Policy } from "../shared/identity.ts";
export type {
  ObjectSignIn,
  SignInPlace,
  SmcpWorkerOptions,
  WorkerSignIn,
} from "./door.ts";
export type {
  ObjectHandlers,
  ObjectState,
  ObjectStorage,
  WorkerWebSocket,
} from "./platform.ts";
export {
  type ObjectClass,
  type SmcpWorker,
  smcpWorker,
  workers,
} from "./smcp_worker.ts";
