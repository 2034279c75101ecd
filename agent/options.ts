import type { ConnectionOptions } from "../client/options.ts";
import type { DocumentHandler } from "./documents/fetch_text.ts";

/** Options of an Agent. */
export interface SmcpAgentOptions extends ConnectionOptions {
  /**
   * Calls made while offline fail at once (default), or wait for the connection, and for the way
   * back into the office, within their time; before `connect` they fail all the same. Those who wait
   * wait for a Computer too that is not back yet, in the first minute after the Agent came back.
   */
  offline?: "fail" | "wait";
  /** Fetch documents of schemes other than `http`, `https` and `file`; by scheme, such as `s3` (spec §8.3). */
  documentHandlers?: Readonly<Record<string, DocumentHandler>>;
}
