import type {
  Beat,
  LeasedDirectory,
} from "../../../server/cluster/directory.ts";
import type { Links } from "../../../server/cluster/redis_links.ts";
import {
  aboutOf,
  newTally,
  NodeLog,
} from "../../../server/cluster/node_log.ts";
import {
  type Connected,
  Term,
  type TermParts,
} from "../../../server/cluster/term.ts";
import { FakeClock } from "./fake_clock.ts";

export const SETTINGS = {
  protocols: ["0.2"],
  membersPerOffice: 1000,
  maxMessageBytes: 8 * 2 ** 20,
  pingIntervalMs: 25_000,
  pingTimeoutMs: 20_000,
} as const;

/** A beat each 3 seconds. */
export const LEASE_MS = 12_000;

type Answer = Partial<Extract<Beat, { state: "ok" }>> | "reaped" | Error;

/** A directory that answers what the test says. */
export class FakeDirectory implements LeasedDirectory {
  readonly node: string;
  /** What was asked, in order. */
  readonly asked: string[] = [];
  /** What the next beats are answered; the last one stays. */
  answers: Answer[] = [{}];
  /** The offices whose home is this node. */
  readonly homes = new Map<string, number>();
  /** When beats were sent. */
  readonly beats: number[] = [];
  /** What claims wait for. */
  claims: Promise<void> = Promise.resolve();
  readonly #clock: FakeClock;

  constructor(node: string, clock: FakeClock) {
    this.node = node;
    this.#clock = clock;
  }

  async beat(): Promise<Beat> {
    await Promise.resolve();
    this.beats.push(this.#clock.now().steady);
    const answer = this.answers.length > 1
      ? this.answers.shift()
      : this.answers[0];
    if (answer instanceof Error) throw answer;
    if (answer === "reaped") return { state: "reaped" };
    return {
      state: "ok",
      nodes: new Map(),
      isNew: this.beats.length === 1,
      isEmpty: false,
      settleMs: 0,
      lost: [],
      ...answer,
    };
  }

  async claim(office: string) {
    this.asked.push(`claim ${office}`);
    await this.claims;
    if (office === "elsewhere") return { node: "other", leaseLeftMs: 1 };
    this.homes.set(office, 1);
    return { node: this.node, leaseLeftMs: LEASE_MS };
  }

  release(office: string) {
    this.asked.push(`release ${office}`);
    this.homes.delete(office);
    return Promise.resolve();
  }

  leave() {
    this.asked.push("leave");
    return Promise.resolve();
  }

  [Symbol.asyncDispose]() {
    return Promise.resolve();
  }
}

/** Links that note what they are told. */
export class FakeLinks implements Links {
  readonly peers = new Set<string>();
  readonly asked: string[] = [];
  readonly queuedBytes = 0;
  readonly maxMessageBytes = 2 ** 20;

  async meet(nodes: Iterable<string>) {
    const met = [...nodes];
    for (const node of met) this.asked.push(`meet ${node}`);
    await Promise.resolve();
    for (const node of met) this.peers.add(node);
  }

  send() {
    return "sent" as const;
  }

  drop(node: string) {
    this.peers.delete(node);
    this.asked.push(`drop ${node}`);
  }

  [Symbol.asyncDispose]() {
    return Promise.resolve();
  }
}

/** A tunnel that notes what it is called with. */
export class FakeTunnel {
  readonly calls: string[] = [];
  readonly others = {
    nodes: new Set<string>(),
    ask: () => Promise.resolve(undefined),
    answerWith: () => {},
  };
  readonly counts = { callsOut: 0, callsIn: 0, callsOpen: 0 };

  received = (from: string) => void this.calls.push(`received ${from}`);
  failed = (node: string, failure: string) =>
    void this.calls.push(`${failure} ${node}`);
  homeLost = (office: string) => void this.calls.push(`lost home ${office}`);
  fence = (reason: string) => void this.calls.push(`fence: ${reason}`);
  close = () => void this.calls.push("close");
}

/** Begins a term whose surroundings are the test's. */
export async function beginTerm(first: Answer = {}) {
  const clock = new FakeClock();
  const directory = new FakeDirectory("own", clock);
  directory.answers = [first];
  const links = new FakeLinks();
  const tunnel = new FakeTunnel();
  const tally = newTally();
  const fenced: string[] = [];
  const connected: Connected = {
    directory,
    links,
    close: () => Promise.resolve(),
  };
  const parts: TermParts = {
    tunnel,
    clock,
    leaseMs: LEASE_MS,
    about: aboutOf("own", { ...SETTINGS, leaseMs: LEASE_MS }),
    log: new NodeLog("redis:6379"),
    tally,
  };
  const term = new Term(connected, parts, (reason) => fenced.push(reason));
  await term.begin();
  return { term, clock, directory, links, tunnel, tally, fenced };
}

/** What another node publishes about itself. */
export const aboutNode = (name: string, settings = {}): string =>
  JSON.stringify(
    aboutOf(name, { ...SETTINGS, leaseMs: LEASE_MS, ...settings }),
  );
