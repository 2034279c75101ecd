import type { ConnectionOptions, SmcpAgentOptions } from "../agent/mod.ts";
import type { SmcpComputerOptions } from "../computer/mod.ts";
import type { SmcpServerOptions } from "../server/mod.ts";

/** Options for {@linkcode startOffice}. */
export interface TestOfficeOptions {
  /** The office that everybody joins; default `"test"`. */
  officeId?: string;
  /** Options of the Server. */
  server?: SmcpServerOptions;
  /** Options of the Agent; unless given here its name is `"agent"`, and it connects to the Server. */
  agent?: Partial<SmcpAgentOptions>;
  /** The Computers by name: the options of each, or a script in place of MCP servers. */
  computers?: Readonly<Record<string, TestComputerOptions | ComputerScript>>;
}

/**
 * Options of a Computer in a test.
 *
 * It connects to the office's Server unless given a `url` or `connection`. Without `servers` it hosts none, and without `confirm`
 * every tool runs unasked.
 */
export type TestComputerOptions = Partial<Omit<SmcpComputerOptions, "name">>;

/**
 * Answers each request of the Agent in place of a Computer, such as `client:get_tools` and
 * `client:tool_call`.
 *
 * What it returns, or its promise resolves to, goes out as it is, however wrong: so an Agent can be
 * tested with answers that no real Computer gives. What it throws becomes an error of the protocol.
 *
 * @param event name of the event
 * @param payload as the Agent sent it
 */
export type ComputerScript = (event: string, payload: unknown) => unknown;

/** Options of a scripted Computer. */
export interface ScriptedComputerOptions extends ConnectionOptions {
  /** Answers the requests. */
  script: ComputerScript;
}
