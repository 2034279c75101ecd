import type { Group } from "../calls.ts";
import type { SettingName } from "./settings.ts";

/** The measurements of Servers that share their offices. */
export interface ClusterPlan {
  readonly rounds: number;
  /** Turns of each arrangement in a round; how long one is, the load says. */
  readonly turns: number;
  /** Calls in a closed loop, by size of the answer. */
  readonly sizes: readonly ClusterGroup[];
  /** Calls at a given rate. */
  readonly paced: ClusterGroup;
  /** Several Servers of this machine beside one; those with a balancer only if there is one. */
  readonly balanced: ClusterGroup;
  readonly idle: {
    readonly rounds: number;
    readonly members: number;
    /** Seconds of silence before memory is read. */
    readonly seconds: number;
    /** Seconds for which they are watched: each is pinged every 25. */
    readonly watched: number;
    readonly settings: readonly SettingName[];
  };
}

/** The same load for several arrangements that are compared. */
export interface ClusterGroup extends Group {
  readonly contestants: readonly SettingName[];
}
