import type { AskInput } from "../config/inputs/input_store.ts";
import type { OAuthOptions } from "./oauth/authorizations.ts";
import type { RestartPolicy } from "./restart_policy.ts";

/** Options for starting, restarting and configuring MCP servers. */
export interface HostingOptions {
  /** Values of inputs by id; they take precedence over the environment's `SMCP_INPUT_<ID>` (spec §4). */
  inputValues?: Readonly<Record<string, unknown>>;
  /** Asks the user for a value that neither of them has; the input's `default` comes last. */
  askInput?: AskInput;
  /**
   * Lets users authorize the Computer at MCP servers over HTTP that answer 401 and have no
   * `Authorization` header in their configuration; without it such calls are answered 4006 (spec §6).
   */
  oauth?: OAuthOptions;
  /** How long an MCP server may take to start; default 60,000, as it may have to be downloaded. */
  startTimeoutMs?: number;
  /**
   * Maximum bytes of one message of an MCP server: a line of a child process, or an event or a body
   * over HTTP; default 64 MiB. A child that writes more is restarted; over HTTP the request fails.
   */
  maxMessageBytes?: number;
  /**
   * When an MCP server that was lost or failed to start is restarted; default: after 0.1 s, then
   * twice as long each time up to 60 s, ± 50 %, starting over once it ran for 10 s.
   */
  restart?: Partial<RestartPolicy>;
}
