import type { CallsRow } from "../calls_summary.ts";
import type { Spread } from "../statistics.ts";

/** The Server on each platform. */
export interface PlatformsResult {
  /** Calls in a closed loop; the key is the answer's name. */
  readonly calls: readonly CallsRow[];
  readonly starts: readonly StartRow[];
  readonly bundles: readonly BundleRow[];
}

/** How soon a contestant is there. */
export interface StartRow {
  readonly contestant: string;
  /** Milliseconds from the start of its process to the first answer of `/health`. */
  readonly ms: Spread;
}

/** The size of a program. */
export interface BundleRow {
  readonly title: string;
  /** Bytes, minified. */
  readonly minified: number;
  /** Bytes with gzip. */
  readonly gzip: number;
}
