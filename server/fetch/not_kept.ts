import type { SmcpServerOptions } from "../options.ts";
import type { FetchServerOptions } from "./fetch_server.ts";

/** What of the options of `createSmcpServer()` a platform cannot keep, each with the reason. */
export interface NotKept {
  /** The options. */
  readonly options: Readonly<Record<string, string>>;
  /** The limits. */
  readonly limits: Readonly<Record<string, string>>;
}

/** What no platform that calls a `fetch` handler can keep. */
export const NOT_KEPT = {
  options: {
    wsEngine: "the WebSockets are the platform's",
    minUploadRate: "the platform shows a message when it is complete",
    headerTimeoutMs:
      "the platform shows a request when its headers are complete",
  },
  limits: {
    unfinishedBytes: "the platform shows a message when it is complete",
  },
} as const satisfies {
  options: Record<
    Exclude<keyof SmcpServerOptions, keyof FetchServerOptions>,
    string
  >;
  limits: NotKept["limits"];
};

/** Options of a server. */
interface Given {
  readonly limits?: false | object;
}

/**
 * Checks that all options can be kept: a limit that is silently dropped guards nothing.
 *
 * @param serve completes "Cannot …", such as `serve by fetch`
 * @throws {TypeError} naming what cannot be kept, and why
 */
export function checkKept(
  given: Given,
  { options, limits }: NotKept,
  serve: string,
  remedy: string,
): void {
  const wanted = [
    ...namesIn(given, options, ""),
    ...namesIn(given.limits || {}, limits, "limits."),
  ];
  for (const [name, reason] of wanted) {
    throw new TypeError(`Cannot ${serve} with ${name}: ${reason}; ${remedy}`);
  }
}

const namesIn = (
  given: object,
  notKept: NotKept["options"],
  prefix: string,
): [name: string, reason: string][] =>
  Object.entries(notKept)
    .filter(([name]) => Reflect.get(given, name) !== undefined)
    .map(([name, reason]) => [prefix + name, reason]);
