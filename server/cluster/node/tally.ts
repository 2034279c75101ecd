import type { Buffer } from "node:buffer";
import type { ClaimOutcome, ClusterFigures } from "../../shared/cluster.ts";
import type { Directory } from "../directory/directory.ts";
import type { Links, Messenger } from "../links/links.ts";

/** Counts what a node does. */
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
  readonly #listeners: ((outcome: ClaimOutcome, ms: number) => void)[] = [];

  /** Calls back for each claim. */
  onClaim(listener: (outcome: ClaimOutcome, durationMs: number) => void): void {
    this.#listeners.push(listener);
  }

  /** Counts a message of another node. */
  received(message: Buffer): void {
    this.messagesIn++;
    this.bytesIn += message.length;
  }

  /** Returns links that count what is sent. */
  counting(links: Links): Messenger {
    return {
      get peers() {
        return links.peers;
      },
      maxMessageBytes: links.maxMessageBytes,
      send: (to, stream, message) => {
        const sent = links.send(to, stream, message);
        if (sent === "full") this.messagesFull++;
        else if (sent === "away") this.messagesAway++;
        else {
          this.messagesOut++;
          for (const part of message) this.bytesOut += part.byteLength;
        }
        return sent;
      },
    };
  }

  /** Returns a directory that measures claims. */
  timing(directory: Directory): Directory {
    const { node } = directory;
    return {
      node,
      claim: async (office) => {
        const began = performance.now();
        let outcome: ClaimOutcome = "failed";
        try {
          const home = await directory.claim(office);
          outcome = home.node === node ? "here" : "elsewhere";
          return home;
        } finally {
          const duration = performance.now() - began;
          for (const listener of this.#listeners) listener(outcome, duration);
        }
      },
      release: (office) => directory.release(office),
    };
  }
}
