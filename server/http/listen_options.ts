import type { TlsOptions } from "./tls.ts";

/** Options for `SmcpServer.listen()`. */
export interface ListenOptions {
  /** The host to listen on; default `127.0.0.1` (spec §10). */
  hostname?: string;
  /** The port to listen on; default 0, any free port. */
  port?: number;
  /** Certificates for HTTPS; default plain HTTP. */
  tls?: TlsOptions;
  /**
   * Whether to allow a public address without authentication, that is without an `authenticator` and
   * without `tls.clientCa`; default `false` (spec §10).
   */
  insecure?: boolean;
  /**
   * Whether to refuse a public address without `tls`; default `false`: logs a warning, if there is an
   * `authenticator` and no trusted proxy.
   */
  requireTls?: boolean;
  /**
   * Called once, when the listener stopped accepting connections and could not be restarted, for
   * example without free file descriptors. By default the error is thrown uncaught, which ends the
   * process.
   */
  onLost?: (error: Error) => void;
}

/** The address that a server listens on. */
export interface ListenAddress {
  /** The URL that clients connect to, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** The requested host. */
  readonly hostname: string;
  /** The actual port. */
  readonly port: number;
}
