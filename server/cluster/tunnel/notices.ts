import type { Payload } from "../../shared/payload.ts";
import { bytesOfPayload } from "../../wire/mod.ts";

/** A notification for one client of another node. */
export interface Notice {
  readonly stream: number;
  readonly office: string;
  readonly event: string;
  readonly payload: Payload;
}

/** The same notification for some clients of a node. */
export interface Bundle extends Pick<Notice, "office" | "event"> {
  readonly streams: readonly number[];
  readonly encoded: readonly Uint8Array[];
}

/** An office gives all members the same payload object, of which nodes get the same bytes. */
const encodings = new WeakMap<Payload, readonly Uint8Array[]>();

/** Collects the notifications that follow each other and differ by their receivers alone. */
export class Notices {
  readonly #send: (bundle: Bundle) => void;
  #open: (Omit<Notice, "stream"> & { readonly streams: number[] }) | undefined;

  /** @param send sends one frame for all receivers */
  constructor(send: (bundle: Bundle) => void) {
    this.#send = send;
  }

  /** Adds a receiver; sent at the end of this turn at the latest. */
  add({ stream, office, event, payload }: Notice): void {
    const open = this.#open;
    if (open?.payload === payload && open.event === event) {
      open.streams.push(stream);
      return;
    }
    this.flush();
    this.#open = { streams: [stream], office, event, payload };
    queueMicrotask(() => this.flush());
  }

  /** Sends what was collected. */
  flush(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { payload, ...bundle } = open;
    let encoded = encodings.get(payload);
    if (encoded === undefined) {
      encoded = bytesOfPayload(payload);
      encodings.set(payload, encoded);
    }
    this.#send({ ...bundle, encoded });
  }

  /** Drops what was collected: the node has ended. */
  clear(): void {
    this.#open = undefined;
  }
}
