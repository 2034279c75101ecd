import type { BroadcastPlan } from "./broadcast.ts";
import type { Group, Load } from "./calls.ts";
import type { ClusterPlan } from "./cluster/plan.ts";
import type { IdlePlan } from "./idle.ts";
import { payloadOf, PAYLOADS } from "./payloads.ts";
import { ON_PLATFORMS, type PlatformsPlan } from "./platforms/mod.ts";

/** The measurements and their durations. */
export interface Plan {
  readonly rounds: number;
  /** Calls in a closed loop, by size of the answer. */
  readonly relay: readonly Group[];
  /** Calls at a given rate, by calls per second. */
  readonly open: readonly Group[];
  /** Calls over increasing numbers of pairs, by that number. */
  readonly growth: readonly Group[];
  readonly broadcast: BroadcastPlan;
  readonly idle: IdlePlan;
  readonly cluster: ClusterPlan;
  readonly platforms: PlatformsPlan;
}

const PAIRS = 50;

/** The sizes at which the other SDKs are measured. */
const COMPARED = ["100", "100k-text"];

const JAVASCRIPT = [
  "floor",
  "ws-deno",
  "ws-node",
  "stock",
  "stock-node",
  "ours",
  "ours-node",
];
const OTHER_SDKS = ["python-0.1", "python-0.2", "rust"];

const load = (over: Partial<Load>): Load => ({
  payload: payloadOf("100"),
  params: 10,
  pairs: PAIRS,
  inflight: 1,
  rotate: false,
  rate: 0,
  warmup: 2,
  seconds: 2,
  ...over,
});

/** The full benchmark; takes an hour and a half. */
export const FULL: Plan = {
  rounds: 5,
  relay: PAYLOADS.map((payload) => ({
    key: payload.name,
    // The largest take so long that they need more time.
    load: load({ payload, seconds: payload.bytes < 1e6 ? 2 : 4 }),
    contestants: COMPARED.includes(payload.name)
      ? [...JAVASCRIPT, ...OTHER_SDKS]
      : JAVASCRIPT,
  })),
  open: [500, 1000, 2000, 4000, 6000].map((rate) => ({
    key: String(rate),
    load: load({ rate, seconds: 5 }),
    contestants: ["floor", "stock", "ours", "ours-node"],
  })),
  growth: [1, 10, 50, 500, 2000, 5000].map((pairs) => ({
    key: String(pairs),
    load: load({ pairs, inflight: PAIRS, rotate: true }),
    contestants: ["floor", "stock", "ours"],
  })),
  broadcast: {
    steps: [
      ...[2, 10, 100, 1000].map((members) => ({ members, rounds: 3 })),
      { members: 5000, rounds: 1 },
    ],
    contestants: ["floor", "stock", "ours"],
    warmup: 1,
    seconds: 2,
  },
  idle: {
    members: [1000, 5000, 10_000],
    contestants: ["floor", "stock", "ours", "ours-node"],
    rounds: 3,
    seconds: 3,
  },
  cluster: {
    rounds: 5,
    turns: 4,
    sizes: ["100", "10k", "100k-text", "1m"].map(payloadOf).map((payload) => ({
      key: payload.name,
      load: load({ payload, seconds: 1 }),
      contestants: ["alone", "same", "other"],
    })),
    paced: {
      key: "400",
      load: load({ pairs: 20, rate: 400, seconds: 2 }),
      contestants: ["alone", "same", "other"],
    },
    balanced: {
      key: "100",
      load: load({ seconds: 1 }),
      contestants: [
        "alone",
        "balanced-alone",
        "balanced",
        "together",
        "spread",
      ],
    },
    idle: {
      rounds: 3,
      members: 10_000,
      seconds: 3,
      watched: 30,
      settings: ["alone", "spread"],
    },
  },
  platforms: {
    rounds: 5,
    starts: 5,
    calls: ["100", "10k", "1m"].map(payloadOf).map((payload) => ({
      key: payload.name,
      load: load({ payload }),
      contestants: ON_PLATFORMS,
    })),
  },
};

/** Returns a plan with a number of rounds for every part; `undefined` keeps those of the plan. */
export function inRounds(plan: Plan, rounds: number | undefined): Plan {
  if (rounds === undefined) return plan;
  const { broadcast, idle, cluster, platforms } = plan;
  return {
    ...plan,
    rounds,
    broadcast: {
      ...broadcast,
      steps: broadcast.steps.map((step) => ({
        ...step,
        rounds: Math.min(step.rounds, rounds),
      })),
    },
    idle: { ...idle, rounds },
    cluster: { ...cluster, rounds, idle: { ...cluster.idle, rounds } },
    platforms: { ...platforms, rounds },
  };
}

const soon = { warmup: 0.2, seconds: 0.5 };

/** Checks that each part works; its figures are meaningless. */
export const QUICK: Plan = {
  rounds: 1,
  relay: ["100", "100k-json"].map(payloadOf).map((payload) => ({
    key: payload.name,
    load: load({ payload, ...soon }),
    contestants: ["floor", "ws-node", "stock", "ours", "ours-node"],
  })),
  open: [{
    key: "2000",
    load: load({ rate: 2000, ...soon }),
    contestants: ["floor", "ours"],
  }],
  growth: [1, 50].map((pairs) => ({
    key: String(pairs),
    load: load({ pairs, inflight: PAIRS, rotate: true, ...soon }),
    contestants: ["floor", "ours"],
  })),
  broadcast: {
    steps: [2, 50].map((members) => ({ members, rounds: 1 })),
    contestants: ["floor", "ours"],
    ...soon,
  },
  idle: {
    members: [100, 200],
    contestants: ["floor", "ours"],
    rounds: 1,
    seconds: 0.5,
  },
  cluster: {
    rounds: 1,
    turns: 1,
    sizes: [{
      key: "100",
      load: load(soon),
      contestants: ["same", "other"],
    }],
    paced: {
      key: "400",
      load: load({ pairs: 20, rate: 400, ...soon }),
      contestants: ["same", "other"],
    },
    balanced: {
      key: "100",
      load: load(soon),
      contestants: ["alone", "balanced"],
    },
    idle: {
      rounds: 1,
      members: 100,
      seconds: 0.2,
      watched: 0.5,
      settings: ["spread"],
    },
  },
  platforms: {
    rounds: 1,
    starts: 1,
    calls: [{ key: "100", load: load(soon), contestants: ON_PLATFORMS }],
  },
};
