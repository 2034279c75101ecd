import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Hono } from "hono";
import type { SmcpEnv } from "./http/http_app.ts";
import type { SmcpServerStats } from "./observe/stats.ts";
import type { ListenAddress, ListenOptions } from "./http/listen_options.ts";
import type { CloseOptions } from "./options.ts";
import type { TlsOptions } from "./http/tls.ts";

/** An A2C-SMCP server: sessions, offices and routing (spec §1). */
export interface SmcpServer extends AsyncDisposable {
  /**
   * The HTTP side: the version gate before Engine.IO, and `GET /health`. Serve it with
   * `@hono/node-server`, mounted at `/`: `app.route("/", smcp.app)`.
   */
  readonly app: Hono<SmcpEnv>;
  /** Counts of this moment. */
  readonly stats: SmcpServerStats;
  /**
   * Takes the WebSocket upgrades of a server that serves {@linkcode SmcpServer.app}; upgrades of
   * other paths are left to its other listeners, and answered 404 when there are none.
   */
  attach(server: HttpServer | HttpsServer): void;
  /**
   * Serves a `node:http` or `node:https` server of its own; rejects when the address can not be
   * taken, when it needs authentication that is not there, when certificates can not be used, and
   * when the server is closed.
   */
  listen(options?: ListenOptions): Promise<ListenAddress>;
  /**
   * Serves `/metrics` at an address of its own, to whoever reaches it; beside everybody's traffic
   * it is there too, for those that may connect (spec §10).
   *
   * @throws {TypeError} when the server has no metrics, or is closed
   */
  listenMetrics(options?: ListenOptions): Promise<ListenAddress>;
  /**
   * Replaces the certificates of the HTTPS servers that `listen` made, for connections from now
   * on; those that are open stay.
   *
   * @throws {TypeError} when they can not be used, or only one of both has `clientCa`; the old ones stay
   */
  reloadTls(tls: TlsOptions): void;
  /**
   * Asks the authenticator again who the holders of all open sessions are, by its `refresh`: their
   * next join is judged by the answer, and sessions whose credentials are gone are ended, so that
   * their clients come back with others or hear 401. Resolves when all are asked.
   */
  recheckSessions(): Promise<void>;
  /**
   * Shuts down: refuses new sessions, joins and calls, waits for the calls on their way, tells the
   * offices that their members leave, and disconnects everybody so that clients reconnect by
   * themselves. A server given to `attach` stays open; one made by `listen` is closed.
   */
  close(options?: CloseOptions): Promise<void>;
}
