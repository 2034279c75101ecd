import {
  type ByteCount,
  fetchWsOption,
  type UpgradeWebSocket,
} from "../wire/fetch/mod.ts";
import type { Limits } from "../limits/limits.ts";
import {
  type CloseOptions,
  resolveOptions,
  type SmcpServerOptions,
} from "../options.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import { ServerCore } from "../core.ts";
import type { ConnectOptions } from "../doors/in_process.ts";
import { closed, OpenSockets } from "../http/closing.ts";
import { earlyBytes } from "../limits/guards.ts";
import { SocketSlots } from "../limits/slots.ts";
import { LoopLag, type SmcpServerStats } from "../observe/metrics.ts";
import { FetchRequests } from "./fetch_requests.ts";

/** What the platform tells about a request beside it, such as `Deno.ServeHandlerInfo`. */
export interface FetchInfo {
  /** The other end of the connection. */
  readonly remoteAddr: {
    /** `tcp`, or `unix` for a socket of this machine. */
    readonly transport: string;
    /** The address, of TCP. */
    readonly hostname?: string;
  };
}

/**
 * Returns the platform's function for WebSockets, `Deno.upgradeWebSocket`.
 *
 * @throws {TypeError} on a platform without it
 */
function platformUpgrade(): UpgradeWebSocket {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const runtime: unknown = Reflect.get(globalThis, "Deno");
  const upgrade: unknown = runtime instanceof Object
    ? Reflect.get(runtime, "upgradeWebSocket")
    : undefined;
  if (isUpgrade(upgrade)) return upgrade;
  throw new TypeError(
    "Cannot serve by fetch on this platform: it has no Deno.upgradeWebSocket, as Deno and Deno Deploy have; on Node and Bun use createSmcpServer() of @a2c-smcp/sdk/server, with listen()",
  );
}

const isUpgrade = (value: unknown): value is UpgradeWebSocket =>
  typeof value === "function";

/** Returns the address of the other end; a Unix socket is one of this machine, empty is unknown. */
export const peerOf = (info: FetchInfo | undefined): string => {
  const { transport, hostname } = info?.remoteAddr ?? {};
  return transport?.startsWith("unix") ? "localhost" : hostname ?? "";
};

/** Options for `createFetchServer()`: those of `createSmcpServer()` that a platform's `fetch` can keep. */
export interface FetchServerOptions extends
  Omit<
    SmcpServerOptions,
    | "wsEngine"
    | "minUploadRate"
    | "headerTimeoutMs"
    | "limits"
  > {
  /**
   * Overrides the defaults of `Limits`; `false` removes all count and rate limits. Here `sockets` and
   * `socketsPerAddress` count open requests and WebSockets, also those that are told to close.
   */
  limits?: false | Partial<Omit<Limits, "unfinishedBytes">>;
  /**
   * Whether to serve other machines without an `authenticator`; default `false`: only requests from
   * this machine are served then, whatever address the platform listens on.
   */
  insecure?: boolean;
}

/** Options of `createSmcpServer()` that cannot be kept, and why. */
const NOT_KEPT: Readonly<
  Record<Exclude<keyof SmcpServerOptions, keyof FetchServerOptions>, string>
> = {
  wsEngine: "the WebSockets are the platform's",
  minUploadRate: "the platform shows a message when it is complete",
  headerTimeoutMs: "the platform shows a request when its headers are complete",
};

/** Limits that cannot be kept, and why. */
const LIMITS_NOT_KEPT = {
  unfinishedBytes: "the platform shows a message when it is complete",
};

/**
 * Checks that all options can be kept: a limit that is silently dropped guards nothing.
 *
 * @throws {TypeError} naming what cannot be kept, and why
 */
function checkFetchOptions(options: FetchServerOptions): void {
  refuse(options, NOT_KEPT, "");
  if (options.limits) refuse(options.limits, LIMITS_NOT_KEPT, "limits.");
}

function refuse(
  given: object,
  notKept: Readonly<Record<string, string>>,
  prefix: string,
): void {
  for (const [name, reason] of Object.entries(notKept)) {
    if (Reflect.get(given, name) === undefined) continue;
    throw new TypeError(
      `Cannot serve by fetch with ${prefix}${name}: ${reason}; leave it out, or use createSmcpServer() of @a2c-smcp/sdk/server, with listen()`,
    );
  }
}

/** How long a shutdown waits for WebSockets to close. */
const CLOSE_TIMEOUT_MS = 1000;

/** The interval of a timer that only keeps the process running. */
const HOLD_INTERVAL_MS = 60_000;

/** An A2C-SMCP server without a listener of its own: the platform's `fetch` handler is its way in. */
export interface FetchServer extends AsyncDisposable {
  /** Current counts. */
  readonly stats: SmcpServerStats;
  /**
   * Answers a request: Engine.IO over WebSocket and polling, `/health`, `/ready`, `/metrics`, the gateway
   * and operators. It needs no `this`.
   *
   * @param info the second argument of the platform's handler, which has the client's address
   */
  readonly fetch: (request: Request, info?: FetchInfo) => Promise<Response>;
  /** Connects a client of this process without a socket, as that of `createSmcpServer()` does. */
  connect(options?: ConnectOptions): InProcessConnection;
  /**
   * Checks the credentials of all open sessions again with the authenticator's `refresh`, as that of
   * `createSmcpServer()` does.
   */
  recheckSessions(): Promise<void>;
  /**
   * Shuts down: refuses new sessions, joins and calls, waits for pending calls, notifies the offices
   * that their members leave, and disconnects all clients, which then reconnect by themselves. Stop the
   * platform's server afterwards: polling clients need it to read their last answers.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Creates a server for a platform that calls `fetch` handlers: `deno serve`, `Deno.serve`, Deno Deploy.
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
export function createFetchServer(
  options: FetchServerOptions = {},
): FetchServer {
  checkFetchOptions(options);
  const upgrade = platformUpgrade();
  const all = resolveOptions(options as SmcpServerOptions);
  const { authenticator, cluster, maxConnectBytes, metrics } = all;
  const bytes: ByteCount = { received: 0, sent: 0 };
  const ws = fetchWsOption(earlyBytes(maxConnectBytes), bytes);
  const core = new ServerCore(all, ws, cluster !== undefined);
  const open = new OpenSockets();
  const requests = new FetchRequests({
    ...core.parts,
    ...{ app: core.app, bytes, upgrade },
    sockets: new SocketSlots(core.parts),
    isOpenToAll: authenticator !== undefined || options.insecure === true,
    opened: (carrier) => open.add(carrier),
  });
  const lag = metrics && new LoopLag();
  metrics?.observe({
    ...core.counts,
    bytes: () => ({ ...bytes }),
    loopLagMs: () => lag?.read() ?? 0,
  });
  const close = async (options?: CloseOptions) => {
    // At SIGTERM `deno serve` stops its listener and all WebSockets: nothing else keeps the process then.
    const hold = setInterval(() => {}, HOLD_INTERVAL_MS);
    try {
      await core.close(options, async () => {
        await closed(open, CLOSE_TIMEOUT_MS);
        lag?.stop();
      });
    } finally {
      clearInterval(hold);
    }
  };
  return {
    get stats() {
      return core.stats();
    },
    fetch: (request, info) => requests.answer(request, info),
    connect: (options) => core.connect(options),
    recheckSessions: () => core.recheck(),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
