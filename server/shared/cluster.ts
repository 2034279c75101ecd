import type { ProtocolName } from "../../protocol/mod.ts";
import type { LocalOffices } from "../office/offices.ts";
import type { Offices } from "../office/peer.ts";
import type {
  ClusterHindrance,
  ClusterSource,
  ClusterStatus,
} from "./cluster_status.ts";
import type { OtherNodes } from "./other_nodes.ts";

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
   * @throws {Error} that says why not: the next try has failed, or takes too long; it goes on trying
   */
  joined(): Promise<void>;
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
