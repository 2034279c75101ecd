import type { TlsOptions } from "./tls.ts";

/** Options for `SmcpServer.listen()`. */
export interface ListenOptions {
  /** Default `127.0.0.1`: loopback unless told otherwise (spec §10). */
  hostname?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Serve HTTPS with these certificates; default HTTP. */
  tls?: TlsOptions;
  /**
   * `true` allows an address that others can reach although nobody is asked who they are: neither
   * by an `authenticator` nor by `tls.clientCa` (spec §10).
   */
  insecure?: boolean;
  /**
   * `true` refuses an address that others can reach without `tls`; default a warning in the log,
   * where there is an `authenticator`, and no proxy in front that is trusted.
   */
  requireTls?: boolean;
  /**
   * Called once, when the listener accepts no connections any more and could not be revived, such as
   * in a process that stays without file descriptors; default the error is thrown, uncaught, which
   * ends the process.
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
