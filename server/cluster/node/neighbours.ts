import { PACKAGE_VERSION } from "../../../cli/version.ts";
import * as z from "../../../protocol/schema.ts";
import type { AgreedSettings } from "../../shared/cluster.ts";

/** What a node publishes about itself. */
export interface About {
  /** What the ids of its sessions begin with. */
  readonly name: string;
  /** The values of the settings that all nodes should have alike, as they are shown. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A setting that two nodes have not alike. */
export interface Difference {
  /** The setting, as a flag or an option. */
  readonly setting: string;
  /** The value here. */
  readonly own: string;
  /** The value there. */
  readonly other: string;
}

/** Returns what a node publishes about itself. */
export const aboutOf = (
  name: string,
  settings: AgreedSettings & { readonly leaseMs: number },
): About => ({
  name,
  settings: {
    "package version": PACKAGE_VERSION,
    "--protocol": settings.protocols.join(","),
    "--max-members-per-office": String(settings.membersPerOffice),
    "--max-message-bytes": String(settings.maxMessageBytes),
    "--ping-interval": seconds(settings.pingIntervalMs),
    "--ping-timeout": seconds(settings.pingTimeoutMs),
    "--cluster-lease": seconds(settings.leaseMs),
  },
});

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`;

const about = z.object({
  name: z.catch(z.string(), ""),
  settings: z.catch(z.record(z.string(), z.unknown()), {}),
});

/** Reads what another node publishes; of another version it may be less, or more. */
export function readAbout(text: string): About {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // nothing that can be read
  }
  const { name = "", settings = {} } = about.safeParse(json).data ?? {};
  const known = Object.entries(settings).filter(([, value]) =>
    typeof value === "string"
  );
  return { name, settings: Object.fromEntries(known) as About["settings"] };
}

/** Compares the settings of two nodes; what only one of them has is not compared. */
export const differences = (own: About, other: About): Difference[] =>
  Object.entries(own.settings).flatMap(([setting, value]) => {
    const there = other.settings[setting];
    return there === undefined || there === value
      ? []
      : [{ setting, own: value, other: there }];
  });

/** What became of another node. */
export interface NodeChange {
  /** `joined`: it is new. `left`: it has said goodbye. `ended`: its lease has ended, and it has not. */
  readonly kind: "joined" | "left" | "ended";
  /** The node. */
  readonly node: string;
  /** What it published about itself. */
  readonly about: About;
}

/** A goodbye may arrive after the beat that does not find its node any more. */
const MISSING_BEATS = 2;

interface Neighbour {
  readonly about: About;
  /** How many beats in a row have not found it. */
  missing: number;
}

/** The other nodes, as the directory and the links report them. Has no side effects. */
export class Neighbours {
  readonly #known = new Map<string, Neighbour>();

  /** The number of nodes. */
  get size(): number {
    return this.#known.size;
  }

  /** Returns what a node published about itself. */
  about(node: string): About | undefined {
    return this.#known.get(node)?.about;
  }

  /** Returns whether a node of this name lives. */
  hasName(name: string): boolean {
    return this.#known.values().some(({ about }) => about.name === name);
  }

  /**
   * Takes the nodes that a beat has found.
   *
   * @param nodes all nodes of the directory
   * @param isComplete whether nodes that are missing have ended: after a restart of Redis they come back
   * @param isLinked whether a node has not said goodbye
   */
  take(
    nodes: ReadonlyMap<string, string>,
    isComplete: boolean,
    isLinked: (node: string) => boolean,
  ): NodeChange[] {
    const changes: NodeChange[] = [];
    for (const [node, known] of this.#known) {
      if (nodes.has(node)) known.missing = 0;
      else if (isComplete) known.missing++;
      const hasEnded = known.missing >= MISSING_BEATS;
      if (nodes.has(node) || isLinked(node) && !hasEnded) continue;
      this.#known.delete(node);
      const kind = isLinked(node) ? "ended" : "left";
      changes.push({ kind, node, about: known.about });
    }
    for (const [node, text] of nodes) {
      if (this.#known.has(node)) continue;
      const about = readAbout(text);
      this.#known.set(node, { about, missing: 0 });
      changes.push({ kind: "joined", node, about });
    }
    return changes;
  }
}
