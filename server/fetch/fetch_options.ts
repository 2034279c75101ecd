import type { Limits } from "../limits/limits.ts";
import type { SmcpServerOptions } from "../options.ts";

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
export function checkFetchOptions(options: FetchServerOptions): void {
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
