/**
 * Measures the Server on each platform in one run: calls, how soon it is there, and how large programs
 * with it are.
 *
 * @module
 */
import {
  bundle,
  installForBundles,
  type Platform,
} from "../../tools/npm/bundle.ts";
import { type Group, measureCalls } from "../calls.ts";
import { summarize } from "../calls_summary.ts";
import { temporaryFolder } from "../leftovers.ts";
import { spreadOf } from "../statistics.ts";
import { attempt, type Tools } from "../tools.ts";
import type { BundleRow, PlatformsResult, StartRow } from "./result.ts";

/** The platforms, by the names of their servers. */
export const ON_PLATFORMS: readonly string[] = [
  "ours",
  "ours-node",
  "ours-bun",
  "ours-fetch",
  "ours-bun-fetch",
  "ours-workers",
  "ours-workers-single",
];

/** What is measured. */
export interface PlatformsPlan {
  readonly rounds: number;
  readonly calls: readonly Group[];
  /** Starts of each server. */
  readonly starts: number;
}

/** Measures all of it. */
export async function measurePlatforms(
  { rounds, calls, starts }: PlatformsPlan,
  tools: Tools,
): Promise<PlatformsResult> {
  return {
    calls: summarize(await measureCalls(calls, rounds, tools)),
    starts: await measureStarts(starts, tools),
    bundles: await measureBundles(),
  };
}

/** Starts one server after the other, round by round. */
async function measureStarts(
  rounds: number,
  tools: Tools,
): Promise<StartRow[]> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const contestant of ON_PLATFORMS) {
      await attempt(`start, ${contestant}`, tools, async () => {
        const ms = await startOf(contestant, tools);
        if (ms === undefined) return;
        tools.tell(`start, ${contestant}: ${ms.toFixed(0)} ms`);
        times.set(contestant, [...times.get(contestant) ?? [], ms]);
      });
    }
  }
  return [...times].map(([contestant, ms]) => ({
    contestant,
    ms: spreadOf(ms),
  }));
}

/** Returns the milliseconds from the start of a process to its first answer. */
async function startOf(
  contestant: string,
  { field }: Tools,
): Promise<number | undefined> {
  const began = performance.now();
  await using server = await field.start(contestant);
  if (server === undefined) return undefined;
  const response = await fetch(`http://127.0.0.1:${server.port}/health`);
  await response.body?.cancel();
  if (response.ok) return performance.now() - began;
  throw new Error(`/health answers ${response.status}`);
}

const AGENT = `export { SmcpAgent } from "@a2c-smcp/sdk/agent";`;
const SERVER = `export { createSmcpServer } from "@a2c-smcp/sdk/server";`;

/** Programs, and what they are bundled for. */
const PROGRAMS: readonly (readonly [
  title: string,
  source: string,
  platform: Platform,
])[] = [
  ["Agent, browser", AGENT, "browser"],
  ["Agent, Worker", AGENT, "workerd"],
  [
    "Server, Worker",
    `export { smcpWorker } from "@a2c-smcp/sdk/server/workers";`,
    "workerd",
  ],
  [
    "Server, Bun",
    `${SERVER} export { bun } from "@a2c-smcp/sdk/server/bun";`,
    "bun",
  ],
];

async function measureBundles(): Promise<BundleRow[]> {
  const folder = temporaryFolder();
  await installForBundles(folder);
  const rows: BundleRow[] = [];
  for (const [title, source, platform] of PROGRAMS) {
    const { minified, gzip } = await bundle(folder, source, platform);
    rows.push({ title, minified, gzip });
  }
  return rows;
}
