import { Buffer } from "node:buffer";
import { Link, type LinkLimits } from "../../../../server/cluster/link.ts";
import {
  DATA_HEADER_BYTES,
  decodeFrame,
  FrameError,
} from "../../../../server/cluster/link_frames.ts";

/** What one end of a pair heard, in order; messages as `stream/index`. */
export type Heard = "opened" | "lost" | "ended" | `${string}/${number}`;

/** One end of a link in a test, with the frames that are on their way to it. */
export class End {
  readonly link: Link;
  readonly incoming: Buffer[] = [];
  readonly heard: Heard[] = [];
  /** How many messages of each stream the queue took. */
  readonly sent = new Map<string, number>();
  isScheduled = false;
  peer: End | undefined;
  /** Sends a frame. */
  transmit = (frame: Buffer): void => {
    this.peer?.incoming.push(Buffer.from(frame));
  };
  /** Is called with each message. */
  onMessage = () => {};

  constructor(own: string, limits: LinkLimits, window: number) {
    this.link = new Link(limits, {
      own,
      window: () => window,
      transmit: (frame) => this.transmit(frame),
      schedule: () => this.isScheduled = true,
      received: (message) => {
        const [stream = "", index = ""] = message.toString().split(/[/;]/);
        this.heard.push(`${stream}/${Number(index)}`);
        this.onMessage();
      },
      opened: () => this.heard.push("opened"),
      lost: () => this.heard.push("lost"),
      ended: () => this.heard.push("ended"),
    });
  }

  /** Sends the next message of a stream. */
  send(stream: string, size: number): boolean {
    const index = this.sent.get(stream) ?? 0;
    const message = Buffer.alloc(Math.max(size, 12), ";");
    message.write(`${stream}/${index};`);
    if (!this.link.send(stream, [message])) return false;
    this.sent.set(stream, index + 1);
    return true;
  }

  /** Flushes, if the link asked for it. */
  flush(): void {
    if (!this.isScheduled) return;
    this.isScheduled = false;
    this.link.flush();
  }

  /** Takes a frame. */
  take(bytes: Buffer | undefined): void {
    if (bytes === undefined) return;
    try {
      this.link.take(decodeFrame(bytes), bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.heard.push("lost");
    }
  }

  /** Bytes of messages that are on their way to this end. */
  get incomingBytes(): number {
    return this.incoming.filter((frame) => frame.length > DATA_HEADER_BYTES)
      .reduce((sum, { length }) => sum + length, 0);
  }
}

/** Makes two ends that are not greeted yet. */
export function pairOf(
  limits: LinkLimits,
  window: number,
): readonly [End, End] {
  const north = new End("north", limits, window);
  const south = new End("south", limits, window);
  north.peer = south;
  south.peer = north;
  return [north, south];
}

/** Lets all arrive, until nothing is on its way. */
export function settle(ends: readonly End[]): void {
  for (let turn = 0; turn < 10_000; turn++) {
    if (ends.every((end) => !end.isScheduled && end.incoming.length === 0)) {
      return;
    }
    for (const end of ends) {
      end.flush();
      end.take(end.incoming.shift());
    }
  }
  throw new Error("the links do not come to rest");
}
