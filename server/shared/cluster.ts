/**
 * A server's view of its cluster, as types: the membership, its status and figures, the other nodes.
 * The room `cluster` implements them, and is loaded only where there is one.
 *
 * @module
 */
import type { ProtocolName } from "../../protocol/mod.ts";
import type { LocalOffices } from "../office/office.ts";
import type { SignInStore } from "../sign_in/grant.ts";
import type { Offices } from "../office/peer.ts";

/**
 * Membership in a cluster, made by `joinCluster` of `@a2c-smcp/sdk/server/cluster`, for one server:
 * its option `cluster` takes it over, and its `close` leaves.
 */
export interface Cluster extends AsyncDisposable {
  /** How this node is. */
  readonly status: ClusterStatus;
  /** Leaves; to be called only where no server has taken it over. */
  close(): Promise<void>;
}

/** What all servers of a cluster should have alike. */
export interface AgreedSettings {
  /** The protocol versions. */
  readonly protocols: readonly ProtocolName[];
  /** The most members of an office. */
  readonly membersPerOffice: number;
  /** The largest message of a client. */
  readonly maxMessageBytes: number;
  /** Milliseconds between two pings. */
  readonly pingIntervalMs: number;
  /** Milliseconds that a client has to answer one. */
  readonly pingTimeoutMs: number;
}

/** The node that a server is in a cluster. */
export interface ClusterMember extends ClusterSource {
  /** What the ids of its polling sessions begin with, before a dot. */
  readonly name: string;
  /** Whether each request of a session reaches its node, so that polling works. */
  readonly routesSessions?: boolean;
  /** The other nodes, for those who operate this one. */
  readonly others: OtherNodes;
  /** Why this node may not serve now. */
  readonly hindrance: ClusterHindrance | undefined;
  /**
   * Begins to join.
   *
   * @param local holds the offices whose home is this node
   * @returns the offices of all nodes
   * @throws {TypeError} when it belongs to another server already
   */
  start(settings: AgreedSettings, local: LocalOffices): Offices;
  /**
   * Resolves when it has joined.
   *
   * @throws {Error} with the reason: the next try has failed, or takes too long; it goes on trying
   */
  joined(): Promise<void>;
  /** Makes what keeps the sign-ins of all nodes; its owner closes it. */
  signInStore?(): Promise<SignInStore>;
  /** Notes a request of a session that is not here. */
  unknownSession(sid: string): void;
  /** Leaves, when no members are left. */
  leave(): Promise<void>;
}

const members = new WeakMap<Cluster, ClusterMember>();

/** Makes what a server sees of a member known; users see {@linkcode Cluster} alone. */
export function newCluster(member: ClusterMember): Cluster {
  const cluster: Cluster = {
    get status() {
      return member.status();
    },
    close: () => member.leave(),
    [Symbol.asyncDispose]: () => member.leave(),
  };
  members.set(cluster, member);
  return cluster;
}

/**
 * Returns what a server sees of a cluster.
 *
 * @throws {TypeError} when it is none
 */
export function memberOf(cluster: Cluster): ClusterMember {
  const member = members.get(cluster);
  if (member !== undefined) return member;
  throw new TypeError(
    "Cannot use this cluster: expected what joinCluster() of @a2c-smcp/sdk/server/cluster resolves with",
  );
}

/** How a node of a cluster is. */
export interface ClusterStatus {
  /** Its id, random at each start; empty until it has joined, and while it is fenced. */
  readonly node: string;
  /** Milliseconds until it stops serving, if Redis does not answer until then. */
  readonly leaseMs: number;
  /** Whether Redis answers. */
  readonly redis: "connected" | "away";
  /** The number of nodes, with this one. */
  readonly nodes: number;
}

/** Why a node may not serve; `undefined` when it may. */
export type ClusterHindrance =
  /** Its lease has ended, and others may have its homes; it joins again as a new node. */
  | "fenced"
  /** It has not joined yet, or Redis does not answer: clients cannot join an office. */
  | "registry unavailable";

/** The counts of a node; the tunnel, the links and the directory have the rest. */
export class ClusterCounts {
  /** Messages to other nodes. */
  messagesOut = 0;
  /** Messages of other nodes. */
  messagesIn = 0;
  /** Bytes to other nodes. */
  bytesOut = 0;
  /** Bytes of other nodes. */
  bytesIn = 0;
  /** Messages that were refused, since too much waited for a node. */
  messagesFull = 0;
  /** Messages that were refused, since a node could not be reached. */
  messagesAway = 0;
  /** How often messages from or to a node may have been lost. */
  linksLost = 0;
  /** How often nothing came from a node for a while. */
  nodesSilent = 0;
  /** Nodes that have ended without leaving. */
  nodesGone = 0;
  /** Homes that have ended, since another node had them after Redis lost data. */
  homesLost = 0;
  /** Beats without an answer. */
  beatsFailed = 0;
  /** How often Redis had lost its data. */
  dataLost = 0;
  /** How often this node was fenced. */
  fences = 0;
  /** Requests of sessions of other nodes. */
  misrouted = 0;
}

/** What a node of a cluster has counted since its start. */
export interface ClusterFigures extends Readonly<ClusterCounts> {
  /** Calls to Computers of other nodes. */
  readonly callsOut: number;
  /** Calls of other nodes' Agents to Computers here. */
  readonly callsIn: number;
  /** Calls that wait for an answer of another node now. */
  readonly callsOpen: number;
  /** Bytes that wait for other nodes now. */
  readonly queuedBytes: number;
  /** Offices whose home is this node now. */
  readonly homes: number;
}

/** Which node a claim of a home has found: this one, which may have got it by that, or another. */
export type ClaimOutcome = "here" | "elsewhere" | "failed";

/** The figures of a node for metrics. */
export interface ClusterSource {
  /** Returns how it is. */
  status(): ClusterStatus;
  /** Returns what it has counted. */
  figures(): ClusterFigures;
  /** Calls back for each claim of the home of an office, with its duration. */
  onClaim(listener: (outcome: ClaimOutcome, durationMs: number) => void): void;
}

/** The other nodes of a cluster, as those who operate this one ask them. */
export interface OtherNodes {
  /** The nodes that this one has met. */
  readonly nodes: ReadonlySet<string>;
  /** Returns whether a node that is not there any more had nothing left to do. */
  hasRetired?(node: string): boolean;
  /**
   * Asks a node.
   *
   * @param question whatever has JSON
   * @returns `undefined` when it gives no answer, or none in time, or goes
   */
  ask(node: string, question: unknown, timeoutMs: number): Promise<unknown>;
  /**
   * Sets who answers the questions of other nodes, which have no answer until then.
   *
   * @param answer returns what has JSON; where it throws, the question has no answer
   */
  answerWith(answer: (question: unknown) => unknown): void;
}
