import type { NodeTunnel } from "../../../server/cluster/cluster_offices.ts";
import {
  ClusterCounts,
  type ClusterMember,
} from "../../../server/shared/cluster.ts";

/** A node that has always joined. */
export const fakeMember = (
  tunnel: NodeTunnel,
  changes: Partial<ClusterMember> = {},
): ClusterMember => ({
  name: "node",
  hindrance: undefined,
  others: tunnel,
  status: () => ({ node: "", leaseMs: 0, redis: "connected", nodes: 0 }),
  figures: () => ({
    ...new ClusterCounts(),
    ...tunnel.counts,
    queuedBytes: 0,
    homes: 0,
  }),
  onClaim: () => {},
  start: (_settings, local) => tunnel.start(local),
  joined: () => Promise.resolve(),
  unknownSession: () => {},
  leave: () => Promise.resolve(),
  ...changes,
});
