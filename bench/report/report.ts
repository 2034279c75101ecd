import type { BroadcastRow } from "../broadcast.ts";
import type { CallsRow } from "../calls_summary.ts";
import type { EndsResult } from "../ends/mod.ts";
import type { IdleRow } from "../idle.ts";
import type { Machine } from "./machine.ts";

/** What each part found. */
export interface Found {
  /** Calls as fast as they are answered; the key is the answer's name. */
  readonly relay: readonly CallsRow[];
  /** Calls at a given rate; the key is calls per second. */
  readonly open: readonly CallsRow[];
  /** Calls among more and more pairs; the key is their number. */
  readonly growth: readonly CallsRow[];
  readonly broadcast: readonly BroadcastRow[];
  readonly idle: readonly IdleRow[];
  readonly ends: EndsResult;
}

/** The parts in their order. */
export const PARTS = [
  "relay",
  "open",
  "growth",
  "broadcast",
  "idle",
  "ends",
] as const satisfies (keyof Found)[];

/** One of {@linkcode PARTS}. */
export type Part = typeof PARTS[number];

/** A part, and when and how often it was measured. */
export interface Taken<P extends Part> {
  /** ISO 8601. */
  readonly takenAt: string;
  readonly rounds: number;
  readonly found: Found[P];
  /** Measurements that failed twice, and why. */
  readonly failures: readonly string[];
}

/** All that is known; the page and the plots are made of it. */
export interface Report {
  readonly machine: Machine;
  /** By the name of what it is the version of. */
  readonly versions: Readonly<Record<string, string>>;
  readonly parts: { readonly [P in Part]?: Taken<P> };
  /** Why a contestant is not in it, by its title. */
  readonly absent: Readonly<Record<string, string>>;
}
