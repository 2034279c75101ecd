import type { Goal } from "../report/goals.ts";
import type { Spread } from "../statistics.ts";
import type { McpResult } from "./result.ts";

/** Most milliseconds that MCP over HTTP adds to a call. */
const ADDED_MS = 3;
/** Least calls per second with 50 at once. */
const CALLS_PER_SECOND = 1000;
/** Most milliseconds from a client's start to its first list of tools. */
const FIRST_LIST_MS = 500;

const ms = ({ low, mid, high }: Spread) =>
  `${mid.toFixed(1)} ms (${low.toFixed(1)}–${high.toFixed(1)})`;

/** Returns which goals an office meets as one MCP server. */
export function mcpGoals(
  { added, callsPerSecond, firstList, pipeMemory }: McpResult,
): Goal[] {
  const rate = callsPerSecond;
  return [
    {
      figure: "MCP over HTTP, added to a call of `SmcpAgent`, p50, 10 B",
      goal: `≤ ${ADDED_MS} ms`,
      measured: ms(added.http),
      met: added.http.mid <= ADDED_MS,
    },
    {
      figure: "the same through `smcp-agent mcp`",
      goal: "report only",
      measured: ms(added.pipe),
    },
    {
      figure: "MCP over HTTP, calls per second, 50 at once",
      goal: `≥ ${CALLS_PER_SECOND}`,
      measured: `${rate.mid.toFixed(0)} (${rate.low.toFixed(0)}–${
        rate.high.toFixed(0)
      })`,
      met: rate.mid >= CALLS_PER_SECOND,
    },
    ...([
      ["the first of an office, over HTTP", firstList.first],
      ["a further one over HTTP", firstList.http],
      ["through `smcp-agent mcp`, with its start", firstList.pipe],
    ] as const).map(([which, spread]) => ({
      figure: `MCP, from a client's start to its tools: ${which}`,
      goal: `< ${FIRST_LIST_MS} ms`,
      measured: `${spread.mid.toFixed(0)} ms`,
      met: spread.mid < FIRST_LIST_MS,
    })),
    ...(pipeMemory === undefined ? [] : [{
      figure: "memory of `smcp-agent mcp`, started / after its calls",
      goal: "report only",
      measured: `${pipeMemory.started.toFixed(0)} / ${
        pipeMemory.used.toFixed(0)
      } MiB`,
    }]),
  ];
}
