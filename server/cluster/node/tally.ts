import type { ClusterFigures } from "../../shared/cluster.ts";

/** What a node has counted; the tunnel, the links and the directory have the rest. */
export class Tally implements
  Record<
    Exclude<
      keyof ClusterFigures,
      "callsOut" | "callsIn" | "callsOpen" | "queuedBytes" | "homes"
    >,
    number
  > {
  messagesOut = 0;
  messagesIn = 0;
  bytesOut = 0;
  bytesIn = 0;
  messagesFull = 0;
  messagesAway = 0;
  linksLost = 0;
  nodesSilent = 0;
  nodesGone = 0;
  homesLost = 0;
  beatsFailed = 0;
  dataLost = 0;
  fences = 0;
  misrouted = 0;
}
