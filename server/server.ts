/**
 * The server that listens by `node:http`, and `createSmcpServer()`, which makes it or one behind
 * `fetch`.
 *
 * @module
 */
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Hono } from "hono";
import type { SmcpEnv } from "./http/http_app.ts";
import {
  LISTEN_NAMES,
  type ListenAddress,
  type ListenOptions,
  TLS_NAMES,
  type TlsOptions,
} from "./http/listen.ts";
import { Listeners } from "./http/listeners.ts";
import type { InProcessConnection } from "../shared/in_process.ts";
import { checkNames } from "../shared/checks.ts";
import { ServerCore, sessionPrefixOf } from "./core.ts";
import type { Adapter } from "./fetch/fetch_requests.ts";
import {
  FETCH_SERVER_NAMES,
  type FetchServer,
  type FetchServerOptions,
  newFetchServer,
} from "./fetch/fetch_server.ts";
import type { ConnectOptions } from "./doors/in_process.ts";
import { StockEngine, wsEngineOption } from "./wire/stock_engine.ts";
import { earlyBytes } from "./limits/guards.ts";
import type { SmcpServerStats } from "./observe/metrics.ts";
import {
  CLOSE_NAMES,
  type CloseOptions,
  resolveOptions,
  SERVER_NAMES,
  type SmcpServerOptions,
} from "./options.ts";

/** An A2C-SMCP server: sessions, offices and routing (protocol §1). */
export interface SmcpServer extends AsyncDisposable {
  /**
   * The HTTP side: the version gate before Engine.IO, `GET /health` and the operator API. Serve it with
   * `@hono/node-server`, mounted at `/`: `app.route("/", smcp.app)`.
   */
  readonly app: Hono<SmcpEnv>;
  /** Current counts. */
  readonly stats: SmcpServerStats;
  /**
   * Handles the WebSocket upgrades of a server that serves {@linkcode SmcpServer.app}; upgrades of
   * other paths are left to its other listeners, or answered with 404 if there are none.
   */
  attach(server: HttpServer | HttpsServer): void;
  /**
   * Starts a `node:http` or `node:https` server.
   *
   * Rejects when the address is unavailable, when it requires authentication that is not set up,
   * when the certificates are invalid, when the cluster cannot be joined, and when the server is closed.
   */
  listen(options?: ListenOptions): Promise<ListenAddress>;
  /**
   * Serves `/metrics` on a separate address without authentication. The address of the clients
   * serves it too, to clients that may connect (protocol §10).
   *
   * @throws {TypeError} when the server has no metrics, or is closed
   */
  listenMetrics(options?: ListenOptions): Promise<ListenAddress>;
  /**
   * Replaces the certificates of the HTTPS servers that `listen` started; open connections are not
   * affected.
   *
   * @throws {TypeError} when they are invalid, or when they add or remove `clientCa`; the old ones stay in use
   */
  reloadTls(tls: TlsOptions): void;
  /**
   * Connects a client of this process without a socket: an Agent or a Computer takes the result as its
   * option `connection`, in place of a `url`. Messages are copied as JSON would carry them, in their
   * order. Works with or without `listen`; in a cluster, once `listen` has resolved.
   *
   * ```ts
   * import { SmcpAgent } from "@a2c-smcp/sdk/agent";
   * import { createSmcpServer } from "@a2c-smcp/sdk/server";
   *
   * const smcp = createSmcpServer();
   * const agent = new SmcpAgent({ connection: smcp.connect(), name: "planner" });
   * await agent.connect();
   * await agent.join("office-1");
   *
   * await agent.close();
   * await smcp.close();
   * ```
   *
   * @throws {TypeError} naming the option that cannot be used
   * @throws {ProtocolError} 500 when the server is shutting down
   */
  connect(options?: ConnectOptions): InProcessConnection;
  /**
   * Checks the credentials of all open sessions again with the authenticator's `refresh`.
   *
   * The result applies to their next join. Sessions whose credentials are no longer valid are
   * ended, so that their clients reconnect with others or get 401. Resolves when all are checked.
   */
  recheckSessions(): Promise<void>;
  /**
   * Shuts down: refuses new sessions, joins and calls, waits for pending calls, notifies the offices
   * that their members leave, and disconnects all clients, which then reconnect by themselves.
   * Servers started by `listen` are closed; those given to `attach` stay open.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Creates a server. It does nothing until it listens, is attached, or its `fetch` is called: with an
 * `adapter` it has `fetch` in place of `listen`, for a platform that listens by itself.
 *
 * @throws {TypeError} naming an option that cannot be used, or that the platform of the adapter cannot keep
 *
 * @example
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer();
 * const { url } = await smcp.listen({ port: 0 });
 * console.log(await (await fetch(`${url}/health`)).json());
 * ```
 *
 * @example
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
 */
export function createSmcpServer<Info>(
  options: FetchServerOptions & { readonly adapter: Adapter<Info> },
): FetchServer<Info>;
/** Creates a server that listens by `node:http`. */
export function createSmcpServer(options?: SmcpServerOptions): SmcpServer;
export function createSmcpServer<Info>(
  options: SmcpServerOptions & { readonly adapter?: Adapter<Info> } = {},
): SmcpServer | FetchServer<Info> {
  const { adapter }: { adapter?: Adapter<Info> } = Object(options);
  const names = adapter ? FETCH_SERVER_NAMES : SERVER_NAMES;
  checkNames(options, { ...names, adapter: true }, "createSmcpServer()");
  return adapter
    ? newFetchServer(options as FetchServerOptions, adapter)
    : newListeningServer(options);
}

/** Connects the parts of a server, in the order in which a client meets them: listeners, connections, sessions. */
function newListeningServer(options: SmcpServerOptions): SmcpServer {
  const all = resolveOptions(options);
  const ws = wsEngineOption(
    all.wsEngine,
    { bytesPerSecond: all.minUploadRate, bytes: all.limits.unfinishedBytes },
    earlyBytes(all.maxConnectBytes),
  );
  const sessionPrefix = sessionPrefixOf(all);
  const engine = new StockEngine({ ...all, sessionPrefix }, ws);
  const core = new ServerCore(all, engine, false);
  const { app, before } = core;
  const listeners = new Listeners({ ...core.parts, app, before, engine });
  core.observe(() => listeners.traffic.read());
  /** Where it listened first. */
  let url: string | undefined;
  const close = async (options?: CloseOptions) => {
    checkNames(options, CLOSE_NAMES, "close()");
    await core.close(options, () => listeners.close());
  };
  return {
    app,
    get stats() {
      return core.stats();
    },
    connect: (options) => core.connect(options, url),
    attach(server) {
      if (all.gateway?.signIn) core.issuer.check(undefined);
      listeners.attach(server);
    },
    async listen(options = {}) {
      checkNames(options, LISTEN_NAMES, "listen()");
      const { hostname = "127.0.0.1" } = options;
      if (all.gateway?.signIn) core.issuer.check(hostname);
      await core.ready();
      const address = await listeners.listen(options);
      core.issuer.listens(address);
      url ??= address.url;
      return address;
    },
    listenMetrics(options = {}) {
      checkNames(options, LISTEN_NAMES, "listenMetrics()");
      if (all.metrics) return listeners.listenMetrics(options, all.metrics);
      throw new TypeError(
        "Cannot serve metrics: the option metrics is not set, createMetrics() makes it",
      );
    },
    reloadTls(tls) {
      checkNames(tls, TLS_NAMES, "reloadTls()");
      listeners.reloadTls(tls);
    },
    recheckSessions: () => core.recheck(),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
