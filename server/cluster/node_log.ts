/**
 * What an operator reads of a cluster: the lines of the log, each with its remedy, and the settings that
 * should be alike.
 *
 * @module
 */
import { PACKAGE_VERSION } from "../../cli/version.ts";
import * as z from "../../protocol/schema.ts";
import { LogThrottle } from "../limits/limiter.ts";
import type { AgreedSettings } from "../shared/cluster.ts";
import { log } from "../shared/log.ts";

/** How many differences are remembered, so that each is logged once. */
const MAX_LOGGED = 1000;

/** The log of a node: one line for each event, with its remedy. */
const NOTES = {
  joined:
    "Joined the cluster at {place} as the node {node}, with {others} others; ids of its sessions begin with {name}",
  back: "Redis at {place} answers again",
  /** Redis was restarted just before this node came: it has no homes of offices yet. */
  settling:
    "Redis at {place} has no data of the cluster yet: the first joins wait for up to {seconds} s, until no former node can serve any more",
  restarted:
    "Redis at {place} was restarted or has failed over: the {homes} offices that live here are registered again",
  nodeJoined: "The node {node} ({name}) is in the cluster",
  nodeLeft: "The node {node} ({name}) has left the cluster",
} as const;

const WARNINGS = {
  emptied:
    "Redis at {place} has lost its data: the {homes} offices that live here are registered again. Unless it was emptied on purpose, check that no other program uses it, and its maxmemory-policy",
  homesLost:
    "{lost} offices that lived here have moved to other nodes: their members are disconnected. Give all nodes the same lease",
  /** Leaving has failed. */
  notLeft:
    "Cannot leave the cluster in order: its offices are free when its lease ends: {reason}",
  nodeEnded:
    "The lease of the node {node} ({name}) has ended: its offices are free. If it still runs, it could not reach Redis, or was stopped for too long",
  nodeGone:
    "The node {node} ({name}) has ended without leaving: it was killed, or failed. Its calls end, and its offices are free when its lease ends; its own log may have the reason",
  nodeSilent:
    "The node {node} ({name}) is silent: pending calls to it end. It is overloaded or stopped, or cannot send through Redis; its offices are free when its lease ends",
  nodeLost:
    "Messages between this node and the node {node} ({name}) may be lost: clients here whose office lives there, and the other way round, reconnect. Frequent ones mean that Redis disconnects the nodes, see its own log",
  differs:
    "The nodes differ in {setting}: {own} here, {other} at the node {node} ({name}). Give all nodes the same, unless the nodes are being updated",
  misrouted:
    "The balancer is not sticky: a request of a session of the node {name} came here, and was refused. All requests of a polling session must reach one node, see docs/scaling.md",
} as const;

const ERRORS = {
  cannotJoin:
    "Cannot join the cluster at {place}, trying again: {reason}. Until then clients cannot join an office here",
  away:
    "Redis at {place} does not answer: clients cannot join an office, and calls to other nodes fail; in {seconds} s this node disconnects its clients. Restore Redis, or the network to it: {reason}",
  /** According to Redis, its lease has ended. */
  reaped:
    "Fenced: this node did not renew its lease, and others may have the {homes} offices that lived here. All clients are disconnected, and reconnect; check whether the process was stopped or overloaded",
  /** Its lease has ended without an answer of Redis. */
  leaseOver:
    "Fenced: this node could not renew its lease with Redis at {place}, and others may have the {homes} offices that lived here. All clients are disconnected, and reconnect; restore Redis, or the network to it, or check whether the process was stopped",
  /** Something that must not fail. */
  failed: "Cannot follow the cluster: {reason}",
} as const;

const LINES = { ...NOTES, ...WARNINGS, ...ERRORS };

type Line = keyof typeof LINES;

type Facts = Readonly<Record<string, unknown>>;

/** Writes the log of a node for operators. */
export class NodeLog {
  readonly #place: string;
  readonly #logged = new Set<string>();
  readonly #misrouted = new LogThrottle<Facts>((facts, omitted) =>
    this.write("misrouted", { ...facts, ...(omitted > 0 && { omitted }) })
  );
  #isAway = false;

  /** @param place the address of Redis, without a password */
  constructor(place: string) {
    this.#place = place;
  }

  /** Writes a line. */
  write(line: Line, facts: Facts = {}): void {
    const text = LINES[line];
    const level = line in NOTES ? "info" : line in WARNINGS ? "warn" : "error";
    const place = text.includes("{place}") && { place: this.#place };
    log[level](text, { ...place, ...facts });
  }

  /** Writes once how the settings of another node differ. */
  differs(facts: Difference & Facts): void {
    const key = `${facts.setting} ${facts.other}`;
    if (this.#logged.has(key) || this.#logged.size >= MAX_LOGGED) return;
    this.#logged.add(key);
    this.write("differs", facts);
  }

  /** Redis does not answer. */
  away(untilOverMs: number, reason: string): void {
    const seconds = Math.round(untilOverMs / 1000);
    if (!this.#isAway) this.write("away", { seconds, reason });
    this.#isAway = true;
  }

  /** Redis answers. */
  back(): void {
    if (this.#isAway) this.write("back");
    this.#isAway = false;
  }

  /** A request of a session of another node came here. */
  misrouted(name: string, now: number): void {
    this.#misrouted.take("", { name }, now);
  }
}

/** Returns why something failed, for people: the deepest reason that is known. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? causeOf(error.cause) : error.message;
}

/** What a node publishes about itself. */
export interface About {
  /** What the ids of its sessions begin with. */
  readonly name: string;
  /** The values of the settings that all nodes should have alike, as they are shown. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A setting in which two nodes differ. */
interface Difference {
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

/** Reads what another node publishes; another version may publish less, or more. */
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
