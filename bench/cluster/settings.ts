/** An arrangement of Servers that is measured. */
export interface Setting {
  /** Its name in tables. */
  readonly title: string;
  /** How many Servers run. */
  readonly nodes: number;
  /** Whether they share their offices. */
  readonly isCluster: boolean;
  /** Which of them Agents connect to, each next pair to the next; a balancer decides otherwise. */
  readonly agents: readonly number[] | "balancer";
  readonly computers: readonly number[] | "balancer";
}

/** All arrangements, by their names in results. */
export const SETTINGS = {
  alone: {
    title: "one Server, without `--cluster`",
    nodes: 1,
    isCluster: false,
    agents: [0],
    computers: [0],
  },
  same: {
    title: "two, both ends at one of them",
    nodes: 2,
    isCluster: true,
    agents: [0],
    computers: [0],
  },
  other: {
    title: "two, the ends at different ones",
    nodes: 2,
    isCluster: true,
    agents: [0],
    computers: [1],
  },
  "balanced-alone": {
    title: "one behind the balancer, without `--cluster`",
    nodes: 1,
    isCluster: false,
    agents: "balancer",
    computers: "balancer",
  },
  balanced: {
    title: "three behind the balancer",
    nodes: 3,
    isCluster: true,
    agents: "balancer",
    computers: "balancer",
  },
  together: {
    title: "three, the ends of each pair at one of them",
    nodes: 3,
    isCluster: true,
    agents: [0, 1, 2],
    computers: [0, 1, 2],
  },
  spread: {
    title: "three, the ends of each pair at different ones",
    nodes: 3,
    isCluster: true,
    agents: [0, 1, 2],
    computers: [1, 2, 0],
  },
} as const satisfies Record<string, Setting>;

/** One of {@linkcode SETTINGS}. */
export type SettingName = keyof typeof SETTINGS;

/** @throws {RangeError} for an unknown name */
export function settingOf(name: string): Setting {
  const [, setting] =
    Object.entries(SETTINGS).find(([each]) => each === name) ??
      [];
  if (setting) return setting;
  throw new RangeError(`Unknown arrangement "${name}"`);
}
