import { cpus } from "node:os";
import type { CallsRow } from "../calls.ts";
import type { CallsPart } from "../cases.ts";
import type { EndsResult } from "../ends.ts";
import type { McpResult } from "../mcp.ts";
import type { NeighboursResult } from "../neighbours/result.ts";

/** The results of each part. */
export interface Found extends Record<CallsPart, readonly CallsRow[]> {
  /** A call through Agent, Server and Computer beside a direct one. */
  readonly ends: EndsResult;
  /** An office as one MCP server. */
  readonly mcp: McpResult;
  /** How long others wait while a member sends the worst; of each row only the worst attacks. */
  readonly neighbours: NeighboursResult;
}

/** One of the parts of the benchmark. */
export type Part = keyof Found;

/** The results of a part, with its date and number of rounds. */
export interface Taken<P extends Part> {
  /** ISO 8601. */
  readonly takenAt: string;
  readonly rounds: number;
  /** The load average of 15 minutes at the end; absent in older results. */
  readonly load?: number;
  /** Where it was measured; absent in older results. */
  readonly machine?: Machine;
  readonly found: Found[P];
}

/** All results; the source of the page and its plot. */
export interface Report {
  readonly machine: Machine;
  /** The version of Deno. */
  readonly deno: string;
  readonly parts: { readonly [P in Part]?: Taken<P> };
}

/** The machine of the benchmark. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
}

/** Whether figures of both can be compared. */
export const isSame = (one: Machine, other: Machine): boolean =>
  one.processor === other.processor && one.cores === other.cores;

/** Describes this machine. */
export function thisMachine(): Machine {
  const [first] = cpus();
  return {
    processor: first?.model ?? "unknown",
    cores: cpus().length,
  };
}

/** Describes this Deno. */
export const thisDeno = (): string =>
  `${Deno.version.deno} (V8 ${Deno.version.v8})`;
