import type { SmcpAgent } from "../../agent/mod.ts";

/** How long a list waits for Computers; what comes later is told as a change. */
const LIST_WAIT_MS = 4_000;

/** Fetches the list of one Computer. */
type Fetch<T> = (agent: SmcpAgent, computer: string) => Promise<T[]>;

/**
 * A list of what each Computer of an office has, kept until the Computer says that it changed: one
 * listing is many requests.
 */
export class PerComputer<T> {
  readonly #fetch: Fetch<T>;
  readonly #late: () => void;
  #agent: SmcpAgent | undefined;
  readonly #lists = new Map<string, { fetched: Promise<T[]>; done?: T[] }>();

  /** @param late called when a Computer has answered after a list had to do without it */
  constructor(fetch: Fetch<T>, late: () => void) {
    this.#fetch = fetch;
    this.#late = late;
  }

  /** Lists what the Computers have, in order. */
  async list(agent: SmcpAgent, computers: readonly string[]): Promise<T[]> {
    if (agent !== this.#agent) this.#lists.clear();
    this.#agent = agent;
    const entries = computers.map((computer) => this.#entry(agent, computer));
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LIST_WAIT_MS);
    const all = Promise.all(entries.map(({ fetched }) => fetched));
    await Promise.race([all, waited]);
    clearTimeout(timer);
    const isComplete = entries.every(({ done }) => done !== undefined);
    if (!isComplete) void all.then(this.#late);
    return entries.flatMap(({ done }) => done ?? []);
  }

  /** Drops what a Computer had; of all of them without a name. Returns whether somebody was told of it. */
  forget(computer?: string): boolean {
    if (computer !== undefined) return this.#lists.delete(computer);
    const wasListed = this.#lists.size > 0;
    this.#lists.clear();
    return wasListed;
  }

  #entry(agent: SmcpAgent, computer: string) {
    const known = this.#lists.get(computer);
    if (known) return known;
    const entry: { fetched: Promise<T[]>; done?: T[] } = {
      fetched: this.#fetch(agent, computer).catch(() => []),
    };
    entry.fetched = entry.fetched.then((list) => entry.done = list);
    this.#lists.set(computer, entry);
    return entry;
  }
}
