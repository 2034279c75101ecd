/** The table of all loads that are measured, in full and quickly. */
import { FLOOR, type Group, OURS } from "./calls.ts";
import type { Load } from "./generator.ts";
import { payloadOf } from "./payloads.ts";

/** What is measured, and how often. */
export interface Plan {
  readonly rounds: number;
  /** Only proves that each part runs; the figures mean nothing. */
  readonly quick: boolean;
  /** A regular expression for the keys of groups, or for the titles of rows. */
  readonly only?: string | undefined;
  /** The folder of another checkout, whose Server neighbours are measured at. */
  readonly checkout?: string | undefined;
  /** The groups of each part that consists of calls. */
  readonly calls: Readonly<Record<CallsPart, readonly Group[]>>;
}

/**
 * `relay`: beside the floor and stock Socket.IO. `growth`: over numbers of pairs. `platforms`: on each
 * runtime. `cluster`: of Servers that share their offices.
 */
export type CallsPart = "relay" | "growth" | "platforms" | "cluster";

const BOTH = [FLOOR, OURS];
const MAIN = [FLOOR, "stock", OURS];

const PLATFORMS = [
  OURS,
  "ours-node",
  "ours-bun",
  "ours-fetch",
  "ours-bun-fetch",
  "ours-workers",
  "ours-workers-single",
];

const CLUSTER = [OURS, "same", "other"];

/**
 * Makes a group of its key: the answer; the pairs; after `x` the calls of each in flight, after `:` those of
 * all, which rotate; after `@` the calls per second, without which they are a closed loop.
 */
export const loadOf = (
  key: string,
  contestants: readonly string[],
  over: Partial<Load> = {},
): Group => {
  const [payload = "", shape = ""] = key.split(" ");
  const [pairs = 50, inflight = 1, rate = 0] = shape.split(/[x:@]/).map(Number);
  return {
    key,
    contestants,
    load: {
      payload: payloadOf(payload),
      pairs,
      inflight,
      rotate: shape.includes(":"),
      rate,
      warmup: 1,
      seconds: 1.5,
      ...over,
    },
  };
};

/** The full benchmark. */
export const FULL: Plan = {
  rounds: 5,
  quick: false,
  calls: {
    relay: ["100", "10k", "100k", "100k-json", "1m"].flatMap((payload) => [
      loadOf(`${payload} 1x1`, BOTH),
      loadOf(`${payload} 8x1`, BOTH),
      loadOf(`${payload} 50x1`, MAIN),
      loadOf(`${payload} 50x4`, BOTH),
    ]),
    growth: [loadOf("100 50:50", BOTH), loadOf("100 5000:50", BOTH)],
    platforms: ["100", "10k", "1m"].map((payload) =>
      loadOf(`${payload} 50x1`, PLATFORMS)
    ),
    cluster: [
      ...["100", "10k", "100k", "1m"].map((payload) =>
        loadOf(`${payload} 50x1`, CLUSTER)
      ),
      loadOf("100 20x1@400", CLUSTER, { seconds: 2 }),
    ].map((group) => ({ ...group, bases: { same: OURS, other: "same" } })),
  },
};

/** The groups of a part by their keys, for a moment. */
const briefly = (part: CallsPart, ...keys: string[]): Group[] =>
  FULL.calls[part].filter(({ key }) => keys.includes(key)).map((group) => ({
    ...group,
    load: { ...group.load, warmup: 0.2, seconds: 0.5 },
  }));

/** Checks that each part works. */
export const QUICK: Plan = {
  rounds: 1,
  quick: true,
  calls: {
    relay: briefly("relay", "100 50x4", "100k-json 50x1"),
    growth: briefly("growth", "100 50:50"),
    platforms: briefly("platforms", "100 50x1"),
    cluster: briefly("cluster", "100 20x1@400"),
  },
};

/** Returns the title of an answer: "10 KB". */
export const answerTitle = (key: string): string =>
  payloadOf(key.split(" ")[0] ?? "").title;

/** Returns the title of a shape: "50 × 4", of rotating calls "5000 : 50", at a rate "20 × 1, 400/s". */
export const shapeTitle = (key: string): string =>
  (key.split(" ")[1] ?? "").replace("x", " × ").replace(":", " : ")
    .replace(/@(\d+)/, ", $1/s");

/** Returns the title of a load: "10 KB, 50 × 4". */
export const loadTitle = (key: string): string =>
  `${answerTitle(key)}, ${shapeTitle(key)}`;
