import {
  checkKept,
  NOT_KEPT as BY_FETCH,
  type NotKept,
} from "../fetch/not_kept.ts";
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
  limits?: false | Partial<Omit<Limits, "unfinishedBytes" | "queuedBytes">>;
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

/** What of the options of `createSmcpServer()` cannot be kept, and why. */
const NOT_KEPT = {
  options: {
    ...BY_FETCH.options,
    cluster: "its objects are one already",
    trustedProxies: "the platform says who the client is",
  },
  limits: {
    ...BY_FETCH.limits,
    queuedBytes: "the platform does not say what it has queued",
  },
} as const satisfies NotKept;

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
  checkKept(options, NOT_KEPT, "serve on Cloudflare", "leave it out");
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
