import type { BroadcastPlan } from "./broadcast.ts";
import { type Group, keyOf, type Load, type Shape, SHAPES } from "./calls.ts";
import type { ClusterPlan } from "./cluster/plan.ts";
import type { IdlePlan } from "./idle.ts";
import { payloadOf } from "./payloads.ts";
import { ON_PLATFORMS, type PlatformsPlan } from "./platforms/mod.ts";

/** The measurements and their durations. */
export interface Plan {
  readonly rounds: number;
  /** Calls in a closed loop, by answer and shape. */
  readonly relay: readonly Group[];
  /** Calls in a closed loop through servers of others, and answers of other scripts. */
  readonly others: readonly Group[];
  /** Calls at half of the rate that the floor reaches, by answer. */
  readonly open: readonly Group[];
  /** Calls over increasing numbers of pairs, by that number. */
  readonly growth: readonly Group[];
  readonly broadcast: BroadcastPlan;
  readonly idle: IdlePlan;
  readonly cluster: ClusterPlan;
  readonly platforms: PlatformsPlan;
}

const PAIRS = 50;

/** The shape in which other servers are compared. */
const SHAPE = { pairs: PAIRS, inflight: 1 };

const BOTH = ["floor", "ours"];

/** The servers of the main table. */
const MAIN = ["floor", "stock", "ours"];

const isUsual = ({ pairs, inflight }: Shape) =>
  pairs === SHAPE.pairs && inflight === SHAPE.inflight;

const PYTHON = ["python-0.1", "python-0.2"];

const load = (over: Partial<Load>): Load => ({
  payload: payloadOf("100"),
  params: 10,
  pairs: PAIRS,
  inflight: 1,
  rotate: false,
  rate: 0,
  warmup: 1,
  seconds: 1.5,
  ...over,
});

/** Calls in a closed loop, in one shape. */
const closed = (
  name: string,
  shape: Shape,
  contestants: readonly string[],
): Group => ({
  key: keyOf(name, shape),
  load: load({ payload: payloadOf(name), ...shape }),
  contestants,
});

/** The full benchmark; takes an hour and a half. */
export const FULL: Plan = {
  rounds: 5,
  relay: ["100", "10k", "100k", "100k-json", "1m"].flatMap((name) =>
    SHAPES.map((shape) =>
      // Stock Socket.IO in one shape: more would take a quarter of an hour.
      closed(name, shape, isUsual(shape) ? MAIN : BOTH)
    )
  ),
  others: [
    ...["100", "10k", "100k", "1m"].map((name) =>
      closed(name, SHAPE, [
        ...["floor", "ws-node", "stock-node", "ours", "ours-node", "rust"],
        ...name === "100" ? PYTHON : [],
      ])
    ),
    closed("100", { pairs: PAIRS, inflight: 4 }, ["floor", "ours", "rust"]),
    closed("100k-text", SHAPE, [...MAIN, ...PYTHON]),
    closed("1m-text", SHAPE, MAIN),
  ],
  open: ["100", "10k", "100k"].map((name) => ({
    key: name,
    load: load({ payload: payloadOf(name), seconds: 3 }),
    contestants: BOTH,
  })),
  growth: [10, 50, 500, 5000].map((pairs) => ({
    key: String(pairs),
    load: load({ pairs, inflight: PAIRS, rotate: true }),
    contestants: MAIN,
  })),
  broadcast: {
    members: [2, 10, 100, 1000],
    rounds: 5,
    contestants: MAIN,
    warmup: 1,
    seconds: 2,
  },
  idle: {
    members: [1000, 5000, 10_000],
    contestants: MAIN,
    rounds: 5,
    seconds: 3,
  },
  cluster: {
    rounds: 5,
    turns: 4,
    sizes: ["100", "10k", "100k", "1m"].map(payloadOf).map((payload) => ({
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
    broadcast: { ...broadcast, rounds },
    idle: { ...idle, rounds },
    cluster: { ...cluster, rounds, idle: { ...cluster.idle, rounds } },
    platforms: { ...platforms, rounds },
  };
}

const soon = { warmup: 0.2, seconds: 0.5 };

const quickly = (group: Group): Group => ({
  ...group,
  load: { ...group.load, ...soon },
});

/** Checks that each part works; its figures are meaningless. */
export const QUICK: Plan = {
  rounds: 1,
  relay: [
    closed("100", { pairs: PAIRS, inflight: 4 }, MAIN),
    closed("100k-json", SHAPE, MAIN),
  ].map(quickly),
  others: [closed("100", SHAPE, ["floor", "ws-node", "ours", "ours-node"])]
    .map(quickly),
  open: [{
    key: "100",
    load: load({}),
    contestants: ["floor", "ours"],
  }].map(quickly),
  growth: [1, 50].map((pairs) => ({
    key: String(pairs),
    load: load({ pairs, inflight: PAIRS, rotate: true, ...soon }),
    contestants: ["floor", "ours"],
  })),
  broadcast: {
    members: [2, 50],
    rounds: 1,
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
