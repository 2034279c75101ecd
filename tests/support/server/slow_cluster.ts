import type { LocalOffices } from "../../../server/office/office.ts";
import type { Offices } from "../../../server/office/peer.ts";
import { type Cluster, newCluster } from "../../../server/shared/cluster.ts";

/** A cluster of one node whose joins take turns of the event loop, as those of offices at other nodes do. */
export const slowCluster = (): Cluster =>
  clusterOf((local) => ({
    get isClosed() {
      return local.isClosed;
    },
    drain: (graceMs) => local.drain(graceMs),
    join: async (...args) => {
      await turn();
      const joined = local.join(...args);
      await turn();
      return joined;
    },
  }));

/** A cluster of one node, with whatever offices. */
export const clusterOf = (offices: (local: LocalOffices) => Offices): Cluster =>
  newCluster({
    name: "node",
    hindrance: undefined,
    others: {
      nodes: new Set(),
      ask: () => Promise.resolve(undefined),
      answerWith: () => {},
    },
    start: (_settings, local) => offices(local),
    joined: () => Promise.resolve(),
    leave: () => Promise.resolve(),
    unknownSession: () => {},
    status: () => ({ node: "", leaseMs: 0, redis: "connected", nodes: 1 }),
    figures: () => {
      throw new Error("this cluster counts nothing");
    },
    onClaim: () => {},
  });

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
