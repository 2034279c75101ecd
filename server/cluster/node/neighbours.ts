import { type About, readAbout } from "./about.ts";

/** What became of another node. */
export interface NodeChange {
  /**
   * `joined`: it is new. `left`: it has said goodbye. `ended`: its lease has ended. `missing`: it was
   * not in the directory for a whole lease, so that nobody tells of its members.
   */
  readonly kind: "joined" | "left" | "ended" | "missing";
  /** The node. */
  readonly node: string;
  /** What it told of itself. */
  readonly about: About;
}

interface Neighbour {
  readonly about: About;
  /** When it was found missing. */
  missing: number | undefined;
}

/** The other nodes, as the directory and the links tell of them. Has no side effects. */
export class Neighbours {
  readonly #patienceMs: number;
  readonly #known = new Map<string, Neighbour>();

  /** @param patienceMs how long a node may be missing: a fail-over or lost data bring it back */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** The number of nodes. */
  get size(): number {
    return this.#known.size;
  }

  /** Returns what a node told of itself. */
  about(node: string): About | undefined {
    return this.#known.get(node)?.about;
  }

  /** Returns whether a node of this name lives. */
  hasName(name: string): boolean {
    return this.#known.values().some(({ about }) => about.name === name);
  }

  /**
   * Takes what a beat has told.
   *
   * @param nodes all nodes of the directory
   * @param ended nodes whose lease has ended
   * @param isLinked whether a node has not said goodbye
   * @param now milliseconds of a monotonic clock
   */
  take(
    nodes: ReadonlyMap<string, string>,
    ended: ReadonlySet<string>,
    isLinked: (node: string) => boolean,
    now: number,
  ): NodeChange[] {
    const changes: NodeChange[] = [];
    for (const [node, known] of this.#known) {
      const kind = ended.has(node)
        ? "ended"
        : this.#judge(known, nodes.has(node), isLinked(node), now);
      if (kind === undefined) continue;
      this.#known.delete(node);
      changes.push({ kind, node, about: known.about });
    }
    for (const [node, text] of nodes) {
      if (this.#known.has(node) || ended.has(node)) continue;
      const about = readAbout(text);
      this.#known.set(node, { about, missing: undefined });
      changes.push({ kind: "joined", node, about });
    }
    return changes;
  }

  /** Forgets a node whose process has ended; returns what it told of itself. */
  forget(node: string): About | undefined {
    const about = this.about(node);
    this.#known.delete(node);
    return about;
  }

  #judge(
    known: Neighbour,
    isThere: boolean,
    isLinked: boolean,
    now: number,
  ): "left" | "missing" | undefined {
    if (isThere) {
      known.missing = undefined;
      return undefined;
    }
    if (!isLinked) return "left";
    known.missing ??= now;
    return now - known.missing >= this.#patienceMs ? "missing" : undefined;
  }
}
