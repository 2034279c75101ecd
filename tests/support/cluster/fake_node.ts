import type {
  Beat,
  Directory,
  Seated,
} from "../../../server/cluster/directory/directory.ts";
import type { Links } from "../../../server/cluster/links/links.ts";
import { aboutOf } from "../../../server/cluster/node/about.ts";
import { NodeLog } from "../../../server/cluster/node/node_log.ts";
import { Tally } from "../../../server/cluster/node/tally.ts";
import {
  type Connected,
  Term,
  type TermSwitchboard,
} from "../../../server/cluster/node/term.ts";
import type { Seat } from "../../../server/shared/member.ts";
import { FakeClock } from "./fake_clock.ts";

export const SETTINGS = {
  protocols: ["0.2"],
  membersPerOffice: 1000,
  maxMessageBytes: 8 * 2 ** 20,
  pingIntervalMs: 25_000,
  pingTimeoutMs: 20_000,
} as const;

export const TIMES = { beatMs: 3000, leaseMs: 15_000 };

/** A Computer's seat of an office. */
export const seated = (
  name: string,
  node: string,
  rev = 1,
): Seated<Seat> => ({
  protocol: "0.2",
  member: {
    role: "computer",
    name,
    office: "office",
    socket: `socket of ${name}`,
    version: "0.2.0",
    instance: undefined,
    principal: undefined,
    rev,
    node,
  },
});

type Answer = Partial<Extract<Beat, { state: "ok" }>> | "reaped" | Error;

/** A directory that answers what the test says. */
export class FakeDirectory implements Directory {
  readonly node: string;
  /** What was asked, in order. */
  readonly asked: string[] = [];
  /** What the next beats are answered; the last one stays. */
  answers: Answer[] = [{}];
  /** The seats of this node. */
  seats: Seated<Seat>[] = [];
  /** Names of those whose seats others have. */
  taken: string[] = [];
  /** The members of nodes that are reaped. */
  dead = new Map<string, Seated<Seat>[]>();
  /** When beats were sent. */
  readonly beats: number[] = [];
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
      emptied: false,
      seats: this.seats.length,
      nodes: new Map(),
      gone: [],
      ...answer,
    };
  }

  registry() {
    return {
      claim: () => Promise.reject(new Error("nobody joins here")),
      release: ({ name }: { name: string }) => {
        this.asked.push(`release ${name}`);
        this.seats = this.seats.filter((each) => each.member.name !== name);
        return Promise.resolve(9);
      },
      list: () => Promise.resolve([]),
    };
  }

  reap(node: string) {
    this.asked.push(`reap ${node}`);
    const seats = this.dead.get(node) ?? [];
    this.dead.delete(node);
    return Promise.resolve(seats);
  }

  own() {
    return Promise.resolve([...this.seats]);
  }

  restore(seat: Seated<Seat>) {
    const { name } = seat.member;
    this.asked.push(`restore ${name}`);
    if (this.taken.includes(name)) return Promise.resolve(undefined);
    this.seats.push(seat);
    return Promise.resolve(seat.member);
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

/** A switchboard that notes what it is told. */
export class FakeSwitchboard implements TermSwitchboard {
  readonly told: string[] = [];
  /** The members here. */
  members: Seated<Seat>[] = [];

  received(from: string) {
    this.told.push(`received ${from}`);
  }

  lost(node: string) {
    this.told.push(`lost ${node}`);
  }

  silent(node: string) {
    this.told.push(`silent ${node}`);
  }

  gone(node: string) {
    this.told.push(`gone ${node}`);
  }

  connected(isConnected: boolean) {
    this.told.push(`connected ${isConnected}`);
  }

  left(seats: readonly Seated<Seat>[]) {
    for (const { member } of seats) this.told.push(`left ${member.name}`);
  }

  seats() {
    return [...this.members];
  }

  evict({ member: { name } }: Seated<Seat>) {
    this.told.push(`evict ${name}`);
    this.members = this.members.filter((each) => each.member.name !== name);
  }

  retry() {}

  reload() {
    this.told.push("reload");
    return Promise.resolve();
  }
}

/** Begins a term whose surroundings are the test's. */
export async function beginTerm(
  first: Answer = {},
  prepare: (
    fakes: { links: FakeLinks; switchboard: FakeSwitchboard },
  ) => void = () => {},
) {
  const clock = new FakeClock();
  const directory = new FakeDirectory("own", clock);
  directory.answers = [first];
  const links = new FakeLinks();
  const switchboard = new FakeSwitchboard();
  prepare({ links, switchboard });
  const tally = new Tally();
  const fenced: string[] = [];
  const connected: Connected = {
    directory,
    links,
    close: () => Promise.resolve(),
  };
  const term = new Term(connected, {
    switchboard,
    clock,
    times: TIMES,
    about: aboutOf("own", { ...SETTINGS, leaseMs: TIMES.leaseMs }),
    log: new NodeLog("redis:6379"),
    tally,
  }, (reason) => fenced.push(reason));
  await term.begin();
  return { term, clock, directory, links, switchboard, tally, fenced };
}

/** What another node tells of itself. */
export const aboutNode = (name: string, settings = {}): string =>
  JSON.stringify(
    aboutOf(name, { ...SETTINGS, leaseMs: TIMES.leaseMs, ...settings }),
  );
