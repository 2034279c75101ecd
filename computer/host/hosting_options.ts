import type { AskInput } from "../config/inputs/input_store.ts";
import type { OAuthOptions } from "./oauth/authorizations.ts";
import type { RestartPolicy } from "./restart_policy.ts";

/** How MCP servers are started, restarted and given what they need. */
export interface HostingOptions {
  /** Values of inputs by id; they come before the environment's `SMCP_INPUT_<ID>` (spec §4). */
  inputValues?: Readonly<Record<string, unknown>>;
  /** Asks a person for the value of an input that neither of them has; its `default` comes last. */
  askInput?: AskInput;
  /**
   * Lets people authorize MCP servers over HTTP that answer 401 and have no `Authorization` header
   * in their configuration; without it such calls are answered 4006 (spec §6).
   */
  oauth?: OAuthOptions;
  /** Milliseconds that an MCP server gets to start; default 60,000: it may have to be downloaded. */
  startTimeoutMs?: number;
  /**
   * Bytes that one message of an MCP server may have: a line of a child, an event or a body over
   * HTTP; default 64 MiB. A child that writes more is restarted, over HTTP the request fails.
   */
  maxMessageBytes?: number;
  /**
   * When an MCP server that was lost or could not start is started again; default: after 0.1 s,
   * then twice as long each time up to 60 s, ± 50 %, forgotten once it ran for 10 s.
   */
  restart?: Partial<RestartPolicy>;
}
