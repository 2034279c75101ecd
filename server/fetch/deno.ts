/**
 * The Server on Deno behind `fetch`: `Deno.serve`, `deno serve`, Deno Deploy.
 *
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { deno } from "@a2c-smcp/sdk/server/deno";
 *
 * const smcp = createSmcpServer({ adapter: deno() });
 * const server = Deno.serve({ hostname: "127.0.0.1", port: 0 }, smcp.fetch);
 *
 * await smcp.close();
 * await server.shutdown();
 * ```
 *
 * @module
 */
import { BroadcastChannel } from "node:worker_threads";
import "../../shared/check_runtime.ts";
import type { PlatformSocket } from "../wire/fetch_engine.ts";
import type { Adapter, Upgraded, UpgradeOptions } from "./fetch_requests.ts";
export type { Adapter, PlatformSocket, Upgraded, UpgradeOptions };

/** The second argument of Deno's handler: `Deno.ServeHandlerInfo`. */
export interface FetchInfo {
  /** The other end of the connection. */
  readonly remoteAddr: {
    /** `tcp`, or `unix` for a socket of this machine. */
    readonly transport: string;
    /** The address, of TCP. */
    readonly hostname?: string;
  };
}

/** `Deno.upgradeWebSocket`. */
type UpgradeWebSocket = (
  request: Request,
  options: UpgradeOptions & { readonly idleTimeout: number },
) => Upgraded;

/**
 * Returns the adapter for Deno.
 *
 * @throws {TypeError} on a platform without `Deno.upgradeWebSocket`
 */
export function deno(): Adapter<FetchInfo> {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const runtime: unknown = Reflect.get(globalThis, "Deno");
  const upgrade: unknown = Object(runtime).upgradeWebSocket;
  if (!isUpgrade(upgrade)) {
    throw new TypeError(
      "Cannot serve by Deno's fetch on this platform, which has no Deno.upgradeWebSocket: on Bun use bun() of @a2c-smcp/sdk/server/bun, on Cloudflare @a2c-smcp/sdk/server/workers, on Node createSmcpServer() without an adapter, with listen()",
    );
  }
  return {
    name: "Deno",
    addressOf(_request, info) {
      const { transport, hostname } = info?.remoteAddr ?? {};
      return transport?.startsWith("unix") ? "localhost" : hostname ?? "";
    },
    upgrade: (request, options) =>
      upgrade(request, {
        ...options,
        idleTimeout: 0, // Engine.IO has pings of its own
      }),
    watchOthers,
  };
}

/**
 * Announces this isolate to all others of its program, and calls back when another one does so later: only
 * the youngest goes on. Isolates of a Web Worker are left out, since they may serve ports of their own.
 */
function watchOthers(found: () => void): () => void {
  if (Reflect.has(globalThis, "WorkerGlobalScope")) return () => {};
  const program: unknown = Reflect.get(globalThis, "Deno").mainModule;
  const channel = new BroadcastChannel(`a2c-smcp serve ${program}`);
  channel.onmessage = (message) => {
    if (Object(message).data !== isolate) found();
  };
  channel.unref(); // at SIGTERM `deno serve` waits for what else keeps the process
  channel.postMessage(isolate);
  return () => channel.close();
}

const isolate = crypto.randomUUID();

const isUpgrade = (value: unknown): value is UpgradeWebSocket =>
  typeof value === "function";
