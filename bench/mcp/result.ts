import type { Spread } from "../statistics.ts";

/** What an office costs as one MCP server. */
export interface McpResult {
  /** What each way adds to `SmcpAgent.callTool`, in ms, of medians of a round; answers of 10 B. */
  readonly added: Readonly<Record<Way, Spread>>;
  /** The median of a call of `SmcpAgent.callTool` in the same rounds, in ms. */
  readonly agent: Spread;
  /** Calls per second with 50 at once, over HTTP. */
  readonly callsPerSecond: Spread;
  /** From a client's start to its first list of tools, in ms; the first takes the office's seat. */
  readonly firstList: Readonly<Record<"first" | Way, Spread>>;
  /** Resident memory of a pipe after its first list and after all calls, in MiB; absent where the system does not tell. */
  readonly pipeMemory?: { readonly started: number; readonly used: number };
}

/** How an MCP client reaches the office. */
export type Way = "http" | "pipe";
