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
  /** It has not joined yet, or Redis does not answer: nobody can join an office. */
  | "registry unavailable";

/** What a node of a cluster has counted since its start. */
export interface ClusterFigures {
  /** Calls to Computers of other nodes. */
  readonly callsOut: number;
  /** Calls of other nodes' Agents to Computers here. */
  readonly callsIn: number;
  /** Calls that wait for an answer of another node now. */
  readonly callsOpen: number;
  /** Messages to other nodes. */
  readonly messagesOut: number;
  /** Messages of other nodes. */
  readonly messagesIn: number;
  /** Bytes to other nodes. */
  readonly bytesOut: number;
  /** Bytes of other nodes. */
  readonly bytesIn: number;
  /** Bytes that wait for other nodes now. */
  readonly queuedBytes: number;
  /** Messages that were refused, since too much waited for a node. */
  readonly messagesFull: number;
  /** Messages that were refused, since a node could not be reached. */
  readonly messagesAway: number;
  /** How often messages from or to a node may have been lost. */
  readonly linksLost: number;
  /** How often a node was not heard of for a while. */
  readonly nodesSilent: number;
  /** Nodes that have ended without leaving. */
  readonly nodesGone: number;
  /** Offices whose home is this node now. */
  readonly homes: number;
  /** Homes that have ended, since another node had them after Redis lost data. */
  readonly homesLost: number;
  /** Beats without an answer. */
  readonly beatsFailed: number;
  /** How often Redis had lost its data. */
  readonly dataLost: number;
  /** How often this node was fenced. */
  readonly fences: number;
  /** Requests of sessions of other nodes. */
  readonly misrouted: number;
}

/** Which node a claim of a home has found: this one, which may have got it by that, or another. */
export type ClaimOutcome = "here" | "elsewhere" | "failed";

/** What a node tells to metrics. */
export interface ClusterSource {
  /** Returns how it is. */
  status(): ClusterStatus;
  /** Returns what it has counted. */
  figures(): ClusterFigures;
  /** Calls back for each claim of the home of an office, with its duration. */
  onClaim(listener: (outcome: ClaimOutcome, durationMs: number) => void): void;
}
