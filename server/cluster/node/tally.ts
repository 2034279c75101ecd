import type { Buffer } from "node:buffer";
import type {
  ClaimOutcome,
  ClusterFigures,
} from "../../shared/cluster_status.ts";
import type { OfficeRegistry } from "../../offices/registry.ts";
import type { Links, Messenger } from "../links/links.ts";

/** Counts what a node does. */
export class Tally implements
  Record<
    Exclude<
      keyof ClusterFigures,
      "callsOut" | "callsIn" | "callsOpen" | "queuedBytes"
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
  seatsReaped = 0;
  seatsRestored = 0;
  seatsReleased = 0;
  seatsLost = 0;
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

  /** Returns a registry that measures claims. */
  timing(registry: OfficeRegistry): OfficeRegistry {
    return {
      claim: async (...claim) => {
        const began = performance.now();
        let outcome: ClaimOutcome = "failed";
        try {
          const answer = await registry.claim(...claim);
          outcome = answer.kind === "refuse" ? "refused" : "admitted";
          return answer;
        } finally {
          const duration = performance.now() - began;
          for (const tell of this.#listeners) tell(outcome, duration);
        }
      },
      release: (member) => registry.release(member),
      list: (office) => registry.list(office),
    };
  }
}
