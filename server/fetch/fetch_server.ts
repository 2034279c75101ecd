import type { InProcessConnection } from "../../shared/in_process.ts";
import { ServerCore } from "../core.ts";
import type { ConnectOptions } from "../doors/in_process.ts";
import { closed, OpenSockets } from "../http/closing.ts";
import { ServerFront } from "../front.ts";
import { earlyBytes } from "../limits/early_budget.ts";
import { SocketSlots } from "../limits/socket_slots.ts";
import { LoopLag } from "../observe/loop_lag.ts";
import type { SmcpServerStats } from "../observe/metrics.ts";
import {
  type CloseOptions,
  resolveOptions,
  type SmcpServerOptions,
} from "../options.ts";
import { type ByteCount, fetchWsOption } from "../wire/fetch/mod.ts";
import { checkFetchOptions, type FetchServerOptions } from "./fetch_options.ts";
import { FetchRequests } from "./fetch_requests.ts";
import { type FetchInfo, platformUpgrade } from "./platform.ts";

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
export const createFetchServer = (
  options: FetchServerOptions = {},
): FetchServer => new HandlerServer(options);

/** Connects the parts of a server whose clients come through a handler. */
class HandlerServer implements FetchServer {
  readonly fetch: FetchServer["fetch"];
  readonly #core: ServerCore;
  readonly #front: ServerFront;
  readonly #open = new OpenSockets();
  readonly #lag: LoopLag | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: FetchServerOptions) {
    checkFetchOptions(options);
    const upgrade = platformUpgrade();
    const all = resolveOptions(options as SmcpServerOptions);
    const bytes: ByteCount = { received: 0, sent: 0 };
    const core = this.#core = new ServerCore(
      all,
      fetchWsOption(earlyBytes(all.maxConnectBytes), bytes),
    );
    const { limiter, slots, connections, draining } = core;
    const parts = {
      ...all,
      ...{ connections, limiter, slots, draining },
      webSocketOnly: all.cluster !== undefined,
    };
    this.#front = new ServerFront(core, parts);
    const requests = new FetchRequests({
      ...parts,
      app: this.#front.app,
      bytes,
      upgrade,
      sockets: new SocketSlots({ limiter, proxies: all.proxies }),
      isOpenToAll: all.authenticator !== undefined || options.insecure === true,
      opened: (carrier) => this.#open.add(carrier),
    });
    this.fetch = (request, info) => requests.answer(request, info);
    if (all.metrics) {
      const lag = this.#lag = new LoopLag();
      all.metrics.observe({
        ...core.counts,
        bytes: () => ({ ...bytes }),
        loopLagMs: () => lag.read(),
      });
    }
  }

  get stats(): SmcpServerStats {
    return this.#core.stats();
  }

  connect(options?: ConnectOptions): InProcessConnection {
    return this.#core.connect(options);
  }

  recheckSessions(): Promise<void> {
    return this.#front.recheck();
  }

  close({ graceMs = 10_000 }: CloseOptions = {}): Promise<void> {
    return this.#closing ??= this.#shutDown(graceMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #shutDown(graceMs: number): Promise<void> {
    // At SIGTERM `deno serve` stops its listener and all WebSockets: nothing else keeps the process then.
    const hold = setInterval(() => {}, HOLD_INTERVAL_MS);
    try {
      await this.#front.close(graceMs);
      await closed(this.#open, CLOSE_TIMEOUT_MS);
    } finally {
      clearInterval(hold);
    }
    this.#lag?.stop();
    this.#core.limiter.flush();
  }
}
