import type { FetchServerOptions } from "../fetch/fetch_server.ts";
import type { Limits } from "../limits/limits.ts";
import type { Metrics } from "../observe/metrics.ts";
import { MAX_WEBSOCKET_BYTES } from "./links.ts";

/** Options for `smcpWorker()`: those of `createSmcpServer()` that Durable Objects can keep, and two more. */
export interface SmcpWorkerOptions extends
  Omit<
    FetchServerOptions,
    "cluster" | "trustedProxies" | "metrics" | "limits"
  > {
  /**
   * Overrides the defaults of `Limits`; `false` removes all count and rate limits. Each object counts for
   * itself: an address may have `connectionsPerAddress` sessions at each front of its continent.
   */
  limits?: false | Partial<Omit<Limits, keyof typeof LIMITS_NOT_KEPT>>;
  /** Makes what collects the metrics of one object: `createMetrics`; default none. */
  metrics?: () => Metrics;
  /** The number of objects for each continent that hold sessions, 1 to 100; default 4. */
  fronts?: number;
  /**
   * Whether one object is all: the home of all offices, with all sessions. Default `false`. It serves some
   * hundred members, and calls take one hop less; one thread is all that it has.
   */
  single?: boolean;
}

/** Options of `createSmcpServer()` that cannot be kept, and why. */
const NOT_KEPT = {
  cluster: "its objects are one already",
  trustedProxies: "the platform says who the client is",
  wsEngine: "the WebSockets are the platform's",
  minUploadRate: "the platform shows a message when it is complete",
  headerTimeoutMs: "the platform shows a request when its headers are complete",
};

/** Limits that cannot be kept, and why. */
const LIMITS_NOT_KEPT = {
  unfinishedBytes: "the platform shows a message when it is complete",
  queuedBytes: "the platform does not say what it has queued",
};

/** What a message has between objects besides what a client has sent. */
const ENVELOPE_BYTES = 64 * 1024;

const DEFAULT_FRONTS = 4;
const MAX_FRONTS = 100;

/**
 * Checks options, and fills in those of this entry alone.
 *
 * @throws {TypeError} naming what cannot be used, and the remedy
 */
export function checkWorkerOptions(options: SmcpWorkerOptions) {
  refuse(options, NOT_KEPT, "");
  if (options.limits) refuse(options.limits, LIMITS_NOT_KEPT, "limits.");
  const { fronts = DEFAULT_FRONTS, single = false } = options;
  if (!Number.isInteger(fronts) || fronts < 1 || fronts > MAX_FRONTS) {
    throw new TypeError(
      `Cannot use ${fronts} fronts: expected a whole number from 1 to ${MAX_FRONTS}`,
    );
  }
  const max = MAX_WEBSOCKET_BYTES - ENVELOPE_BYTES;
  if ((options.maxMessageBytes ?? 0) > max) {
    throw new TypeError(
      `Cannot use maxMessageBytes of ${options.maxMessageBytes}: a WebSocket of Cloudflare carries at most ${max} bytes of a client`,
    );
  }
  if (options.authenticator === undefined && options.insecure !== true) {
    throw new TypeError(
      "Cannot serve the internet without authentication, anybody could use the tools of every computer: set authenticator, such as apiKeys(parseApiKeys(env.SMCP_KEYS)), or insecure: true for a try",
    );
  }
  return { fronts, single };
}

function refuse(
  given: object,
  notKept: Readonly<Record<string, string>>,
  prefix: string,
): void {
  for (const [name, reason] of Object.entries(notKept)) {
    if (Reflect.get(given, name) === undefined) continue;
    throw new TypeError(
      `Cannot serve on Cloudflare with ${prefix}${name}: ${reason}; leave it out`,
    );
  }
}
