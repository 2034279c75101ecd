import type { LocalOffices } from "../../office/offices.ts";
import type { Offices } from "../../office/peer.ts";
import type { ClusterFigures, OtherNodes } from "../../shared/cluster.ts";
import type { Directory } from "../directory/directory.ts";
import type { LinkEvents, Messenger } from "../links/links.ts";

/**
 * A node, as its tunnel uses it; the same object for all its terms. While it is not in its cluster it is
 * the home of nothing, each claim fails, and all nodes are away.
 */
export interface TunnelNode extends Directory, Messenger {
  /** Returns whether this node may serve now; to be asked at each event, since timers may be late. */
  isServing(): boolean;
}

/** What carries events between the offices of a cluster, as its node drives it. No method throws. */
export interface NodeTunnel extends Pick<LinkEvents, "received" | "failed"> {
  /** The other nodes, for those who operate this one. */
  readonly others: OtherNodes;
  /** What it has counted since the start. */
  readonly counts: Pick<
    ClusterFigures,
    "callsOut" | "callsIn" | "callsOpen"
  >;
  /** Returns the offices of all nodes, of which `local` has those whose home is here. */
  start(local: LocalOffices): Offices;
  /** Ends a home: another node has the office, since Redis has lost data. */
  homeLost(office: string): void;
  /**
   * Ends all homes and streams before it returns, and closes the connections of all clients: other nodes
   * may get these homes.
   *
   * @param reason for the clients
   */
  fence(reason: string): void;
  /** Ends what waits; the node has left its cluster. */
  close(): void;
}
