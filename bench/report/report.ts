import type { BroadcastRow } from "../broadcast.ts";
import type { CallsRow } from "../calls_summary.ts";
import type { ClusterResult } from "../cluster/result.ts";
import type { EndsResult } from "../ends/mod.ts";
import type { IdleRow } from "../idle.ts";
import type { McpResult } from "../mcp/result.ts";
import type { NeighboursResult } from "../neighbours/result.ts";
import type { PlatformsResult } from "../platforms/result.ts";
import type { Machine } from "./machine.ts";

/** The results of each part. */
export interface Found {
  /** Calls in a closed loop; the key is the answer's name and the shape. */
  readonly relay: readonly CallsRow[];
  /** The same through servers of others, and with answers of other scripts. */
  readonly others: readonly CallsRow[];
  /** Calls at half of the floor's rate; the key is the answer's name. */
  readonly open: readonly CallsRow[];
  /** Calls over increasing numbers of pairs; the key is that number. */
  readonly growth: readonly CallsRow[];
  readonly broadcast: readonly BroadcastRow[];
  readonly idle: readonly IdleRow[];
  readonly ends: EndsResult;
  /** The office as one MCP server. */
  readonly mcp: McpResult;
  /** Servers that share their offices. */
  readonly cluster: ClusterResult;
  /** The Server on each platform. */
  readonly platforms: PlatformsResult;
  /** How long others wait while a member sends the worst; of each row only the worst attacks. */
  readonly neighbours: NeighboursResult;
}

/** The parts in order. */
export const PARTS = [
  "relay",
  "others",
  "open",
  "growth",
  "broadcast",
  "idle",
  "ends",
  "mcp",
  "cluster",
  "platforms",
  "neighbours",
] as const satisfies (keyof Found)[];

/** One of {@linkcode PARTS}. */
export type Part = typeof PARTS[number];

/** The results of a part, with its date and number of rounds. */
export interface Taken<P extends Part> {
  /** ISO 8601. */
  readonly takenAt: string;
  readonly rounds: number;
  /** Where it was measured; absent in older results. */
  readonly machine?: Machine;
  readonly found: Found[P];
  /** Measurements that failed twice, with reasons. */
  readonly failures: readonly string[];
}

/** All results; the source of the page and the plots. */
export interface Report {
  readonly machine: Machine;
  /** Versions by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly parts: { readonly [P in Part]?: Taken<P> };
  /** Reasons for missing contestants, by title. */
  readonly absent: Readonly<Record<string, string>>;
}
