/**
 * A server for a platform that calls a `fetch` handler, and the options that no such platform can keep.
 *
 * @module
 */
import { type ByteCount, FetchEngine } from "../wire/fetch_engine.ts";
import type { Limits } from "../limits/limits.ts";
import {
  CLOSE_NAMES,
  type CloseOptions,
  type ResolvedOptions,
  resolveOptions,
  SERVER_NAMES,
  type SmcpServerOptions,
} from "../options.ts";
import type { InProcessConnection } from "../../shared/in_process.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { ServerCore, sessionPrefixOf } from "../core.ts";
import type { ConnectOptions } from "../doors/in_process.ts";
import { earlyBytes } from "../limits/guards.ts";
import type { SmcpServerStats } from "../observe/metrics.ts";
import { ErrorCode } from "../../protocol/mod.ts";
import { log } from "../shared/log.ts";
import { refusal, sessionOf, splitTarget, toResponse } from "../shared/http.ts";
import { type Adapter, FetchRequests } from "./fetch_requests.ts";
import type { FetchInfo } from "./deno.ts";

/** Options of `createSmcpServer()` with an adapter: all that a platform's `fetch` can keep. */
export interface FetchServerOptions extends
  Omit<
    SmcpServerOptions,
    "wsEngine" | "minUploadRate" | "headerTimeoutMs" | "limits"
  > {
  /**
   * Overrides the defaults of `Limits`; `false` removes all count and rate limits. Here `sockets` and
   * `socketsPerAddress` count open requests and WebSockets, also those that are closing.
   */
  limits?: false | Partial<Omit<Limits, "unfinishedBytes">>;
  /**
   * Whether to serve other machines without an `authenticator`; default `false`: only requests from
   * this machine are served then, whatever address the platform listens on.
   */
  insecure?: boolean;
}

/** The names of {@linkcode FetchServerOptions}, and those that {@linkcode checkKept} refuses with a reason. */
export const FETCH_SERVER_NAMES = {
  ...SERVER_NAMES,
  insecure: true,
} satisfies NamesOf<FetchServerOptions>;

/** Why an isolate serves no more. */
const SEVERAL =
  "Cannot serve in several isolates: each would have offices of its own, so only the youngest one serves; leave out `--parallel`, or use `cluster`";

/** The interval of a timer that only keeps the process running. */
const HOLD_INTERVAL_MS = 60_000;

/**
 * An A2C-SMCP server without a listener of its own: the platform's `fetch` handler is its way in.
 *
 * @typeParam Info the second argument of that handler
 */
export interface FetchServer<Info = FetchInfo> extends AsyncDisposable {
  /** Current counts. */
  readonly stats: SmcpServerStats;
  /**
   * Answers a request: Engine.IO over WebSocket and polling, `/health`, `/ready`, `/metrics`, the gateway
   * and operators. It needs no `this`.
   *
   * @param info the second argument of the platform's handler, which has the client's address
   */
  readonly fetch: (request: Request, info?: Info) => Promise<Response>;
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
 * Creates a server for a platform that calls `fetch` handlers.
 *
 * @throws {TypeError} for options that cannot be kept there
 * @throws {RangeError} when the platform would end the connection of a message that the server takes
 */
export function newFetchServer<Info>(
  options: FetchServerOptions,
  adapter: Adapter<Info>,
): FetchServer<Info> {
  checkKept(
    options,
    NOT_KEPT,
    "serve by fetch",
    "leave it out, or use createSmcpServer() without an adapter, with listen()",
  );
  const all = resolveOptions(options as SmcpServerOptions);
  const { name, maxMessageBytes: most = Infinity } = adapter;
  if (all.maxMessageBytes > most) {
    throw new RangeError(
      `Cannot serve by fetch with maxMessageBytes ${all.maxMessageBytes}: messages have at most ${most} bytes on ${name}`,
    );
  }
  return new PlatformServer(all, adapter, options.insecure);
}

/** The server of {@linkcode newFetchServer}. */
class PlatformServer<Info> implements FetchServer<Info> {
  readonly #core: ServerCore;
  readonly #requests: FetchRequests<Info>;
  readonly #adapter: Adapter<Info>;
  /** Stops watching for other isolates; set by the first request. */
  #unwatch: (() => void) | undefined;
  #isReplaced = false;

  constructor(
    all: ResolvedOptions,
    adapter: Adapter<Info>,
    insecure = false,
  ) {
    const { cluster } = all;
    const bytes: ByteCount = { received: 0, sent: 0 };
    const engine = new FetchEngine({
      ...all,
      earlyPayload: earlyBytes(all.maxConnectBytes),
      sessionPrefix: sessionPrefixOf(all),
      bytes,
    });
    const webSocketOnly = cluster !== undefined && !cluster.routesSessions;
    const core = new ServerCore(all, engine, webSocketOnly);
    if (all.gateway?.signIn) core.issuer.check(undefined);
    this.#core = core;
    this.#adapter = adapter;
    this.#requests = new FetchRequests({
      ...core.parts,
      app: core.app,
      engine,
      bytes,
      adapter,
      isOpenToAll: insecure || all.authenticator !== undefined,
    });
    core.observe(() => ({ ...bytes }));
  }

  get stats(): SmcpServerStats {
    return this.#core.stats();
  }

  readonly fetch = (request: Request, info?: Info): Promise<Response> => {
    // Sessions of before still get their last answers.
    if (this.#isReplaced && !sessionOf(splitTarget(request.url).query)) {
      const error = { code: ErrorCode.INTERNAL_ERROR, message: SEVERAL };
      return Promise.resolve(toResponse(refusal(503, error)));
    }
    // Others with a cluster share their offices.
    this.#unwatch ??= !this.#core.parts.cluster &&
        this.#adapter.watchOthers?.(() => this.#replaced()) || (() => {});
    return this.#requests.answer(request, info);
  };

  connect(options?: ConnectOptions): InProcessConnection {
    return this.#core.connect(options);
  }

  recheckSessions(): Promise<void> {
    return this.#core.recheck();
  }

  async close(options?: CloseOptions): Promise<void> {
    checkNames(options, CLOSE_NAMES, "close()");
    this.#unwatch?.();
    // At SIGTERM `deno serve` stops its listener and all WebSockets: nothing else keeps the process then.
    const hold = setInterval(() => {}, HOLD_INTERVAL_MS);
    try {
      await this.#core.close(options, () => this.#requests.closed());
    } finally {
      clearInterval(hold);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #replaced(): void {
    if (this.#isReplaced) return;
    this.#isReplaced = true;
    log.error(SEVERAL);
    void this.close();
  }
}

/** What no platform that calls a `fetch` handler can keep of the options of `createSmcpServer()`, and why. */
export const NOT_KEPT = {
  wsEngine: "the WebSockets are the platform's",
  minUploadRate: "the platform shows a message when it is complete",
  headerTimeoutMs: "the platform shows a request when its headers are complete",
  "limits.unfinishedBytes": "the platform shows a message when it is complete",
} as const satisfies Record<
  | Exclude<keyof SmcpServerOptions, keyof FetchServerOptions>
  | "limits.unfinishedBytes",
  string
>;

/**
 * Checks that all options can be kept: a limit that is silently dropped guards nothing.
 *
 * @param notKept the reasons, by the names of options
 * @param serve completes "Cannot …", such as `serve by fetch`
 * @throws {TypeError} naming what cannot be kept, and why
 */
export function checkKept(
  given: object,
  notKept: Readonly<Record<string, string>>,
  serve: string,
  remedy: string,
): void {
  for (const [name, reason] of Object.entries(notKept)) {
    const path = name.split(".");
    const value = path.reduce((of, key) => Object(of)[key], given);
    if (value === undefined) continue;
    throw new TypeError(`Cannot ${serve} with ${name}: ${reason}; ${remedy}`);
  }
}
