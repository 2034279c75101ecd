/**
 * `server/mod.ts` with a Worker behind `createSmcpServer()`, in whose place the suites of `suites_test.ts`
 * import this module.
 *
 * @module
 */
import type { SmcpServer, SmcpServerOptions } from "../../../../server/mod.ts";
import {
  smcpWorker,
  type SmcpWorkerOptions,
} from "../../../../server/workers/mod.ts";
import {
  endWorkers,
  startWorker,
  type Workerd,
} from "../../../support/edge/workerd.ts";
import { pollingEnds } from "../../../support/wire/polling_ends.ts";

export * from "../../../../server/mod.ts";

Deno.test.afterAll(endWorkers);

/** Creates a server whose `listen()` starts a Worker, which takes its options as JSON. */
export function createSmcpServer(
  options: SmcpServerOptions = {},
): SmcpServer {
  // The engine of tests/wire that stands for a Worker; the other one is refused as any option is.
  const { wsEngine, gateway, ...rest } = options;
  const kept: SmcpWorkerOptions = { insecure: true };
  Object.assign(kept, rest, wsEngine === "stock" && { wsEngine });
  // Each front counts the sessions of an address for itself, and a request meets any of them.
  if (rest.limits && rest.limits.connectionsPerAddress) kept.fronts = 1;
  for (const [name, value] of Object.entries(kept)) {
    if (!isJson(value)) throw new TypeError(`A Worker of tests has no ${name}`);
  }
  // Throws as the Worker would at its first request.
  smcpWorker(kept);
  const bindings = { OPTIONS: kept, MCP: gateway !== undefined };
  const started: Workerd[] = [];
  const missing = (name: string) => () => {
    throw new TypeError(`A Worker of tests has no ${name}`);
  };
  const close = async () => {
    for (const each of started.splice(0)) await each[Symbol.asyncDispose]();
  };
  return {
    get app() {
      return missing("app")();
    },
    get stats() {
      return missing("stats")();
    },
    attach: missing("attach"),
    listenMetrics: missing("listenMetrics"),
    reloadTls: missing("reloadTls"),
    async listen(to) {
      if (to?.tls) missing("tls")();
      const worker = await startWorker(bindings);
      started.push(worker);
      const { url, port } = worker;
      return { url, hostname: "127.0.0.1", port };
    },
    connect: missing("connect"),
    recheckSessions: missing("recheckSessions"),
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await pollingEnds()[Symbol.asyncDispose]();
    },
  };
}

/** Whether a value passes through JSON unchanged. */
function isJson(value: unknown): boolean {
  if (typeof value === "function") return false;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || Array.isArray(value);
  return isPlain && Object.values(value).every(isJson);
}
