import type { ConnectionOptions } from "../client/options.ts";
import type { DocumentHandler } from "./documents/fetch_text.ts";

/** Options of an Agent. */
export interface SmcpAgentOptions extends ConnectionOptions {
  /**
   * What happens to calls while offline: they fail at once (default), or wait within their timeout
   * until the Agent has reconnected and rejoined its office. Before `connect` they always fail. With
   * `wait`, calls in the first minute after a rejoin also wait for a Computer that has not rejoined.
   */
  offline?: "fail" | "wait";
  /** Fetches documents of other schemes than `http`, `https` and `file`; by scheme, such as `s3` (spec §8.3). */
  documentHandlers?: Readonly<Record<string, DocumentHandler>>;
}
