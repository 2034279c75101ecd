import { Tally } from "../../../server/cluster/node/tally.ts";
import type { Switchboard } from "../../../server/cluster/switchboard/switchboard.ts";
import type { ClusterMember } from "../../../server/offices/cluster.ts";

/** A node that has always joined, and whose other nodes are the switchboard's. */
export const fakeMember = (
  switchboard: Switchboard,
  changes: Partial<ClusterMember> = {},
): ClusterMember => ({
  name: "node",
  hindrance: undefined,
  others: switchboard.questions,
  exchange: (...offices) => switchboard.exchange(...offices),
  status: () => ({ node: "", leaseMs: 0, redis: "connected", nodes: 0 }),
  figures: () => ({ ...new Tally(), ...switchboard.counts, queuedBytes: 0 }),
  onClaim: () => {},
  start: () => {},
  joined: () => Promise.resolve(),
  unknownSession: () => {},
  leave: () => Promise.resolve(),
  ...changes,
});
