import { Buffer } from "node:buffer";
import type { Messenger, Sent } from "../cluster/cluster_offices.ts";
import { failure, log } from "../shared/log.ts";
import type { WorkerWebSocket } from "./platform.ts";

/** The largest message of a WebSocket that the platform passes on. */
export const MAX_WEBSOCKET_BYTES: number = 32 * 2 ** 20;

/** The code with which an object that is not used any more closes its WebSockets. */
const RETIRED = 1000;

/** How long it is remembered which objects have done so. */
const REMEMBERED_MS = 60_000;

/** What {@linkcode ObjectLinks} work with. */
export interface LinksParts {
  /** Connects this object with another. */
  dial(node: string): Promise<WorkerWebSocket>;
  /** Takes a message; all of one object in order. */
  received(node: string, message: Buffer): void;
  /** Notes that nothing more comes from an object, and that what was sent to it may not have arrived. */
  failed(node: string): void;
}

/** A WebSocket, or what waits for it. */
type Link = WorkerWebSocket | Uint8Array[];

/**
 * The WebSockets between this object and others, one for each. The first message to an object connects
 * it. A WebSocket keeps order and loses nothing, so its end is the only failure.
 */
export class ObjectLinks implements Messenger {
  readonly #parts: LinksParts;
  readonly #links = new Map<string, Link>();
  /** Until when it is remembered which objects have closed their WebSockets themselves. */
  readonly #retired = new Map<string, number>();
  /** What became of messages. */
  readonly counts = { messagesIn: 0, messagesOut: 0, bytesIn: 0, bytesOut: 0 };

  constructor(parts: LinksParts) {
    this.#parts = parts;
  }

  /** Each message is one of a WebSocket. */
  get maxMessageBytes(): number {
    return MAX_WEBSOCKET_BYTES;
  }

  get peers(): ReadonlySet<string> {
    return new Set(this.#links.keys());
  }

  send(to: string, _stream: string, parts: readonly Uint8Array[]): Sent {
    const message = Buffer.concat(parts);
    this.connect(to);
    const link = this.#links.get(to);
    if (link === undefined) return "away";
    this.counts.messagesOut++;
    this.counts.bytesOut += message.length;
    if (Array.isArray(link)) link.push(message);
    else this.#write(to, link, message);
    return "sent";
  }

  /** Connects an object, unless it is connected. */
  connect(to: string): void {
    if (this.#links.has(to)) return;
    const waiting: Uint8Array[] = [];
    this.#links.set(to, waiting);
    this.#parts.dial(to).then(
      (socket) => {
        if (this.#links.get(to) !== waiting) return socket.close();
        this.take(to, socket);
        for (const message of waiting) this.#write(to, socket, message);
      },
      (error) => {
        log.warn("Cannot reach the object {node}", {
          node: to,
          ...failure(error),
        });
        this.#fail(to, waiting);
      },
    );
  }

  /** Takes a WebSocket that receives in memory. */
  take(node: string, socket: WorkerWebSocket): void {
    const ended = (closed?: { readonly code: number }) =>
      this.ended(node, socket, closed?.code);
    socket.addEventListener(
      "message",
      ({ data }) => this.received(node, socket, data),
    );
    socket.addEventListener("close", ended);
    socket.addEventListener("error", () => ended());
    this.add(node, socket);
  }

  /** Adds one of which the messages come by {@linkcode ObjectLinks.received}. */
  add(node: string, socket: WorkerWebSocket): void {
    const former = this.#links.get(node);
    // The other object has begun anew: its end of the former one is not there any more.
    if (former && !Array.isArray(former)) this.ended(node, former);
    this.#links.set(node, socket);
    this.#retired.delete(node);
  }

  /** Takes a message. */
  received(node: string, socket: WorkerWebSocket, data: unknown): void {
    if (this.#links.get(node) !== socket) return;
    if (!(data instanceof ArrayBuffer)) return;
    this.counts.messagesIn++;
    this.counts.bytesIn += data.byteLength;
    this.#parts.received(node, Buffer.from(data));
  }

  /** Notes that a WebSocket is closed. */
  ended(node: string, socket: WorkerWebSocket, code?: number): void {
    if (code === RETIRED && this.#links.get(node) === socket) {
      const now = performance.now();
      for (const [other, until] of this.#retired) {
        if (until <= now) this.#retired.delete(other);
      }
      this.#retired.set(node, now + REMEMBERED_MS);
    }
    close(socket); // the platform waits for the answer
    this.#fail(node, socket);
  }

  /** Returns whether an object has closed its WebSocket itself, since it was not used any more. */
  hasRetired(node: string): boolean {
    return this.#retired.has(node);
  }

  /** Closes all of them. */
  close(): void {
    const links = [...this.#links];
    this.#links.clear();
    for (const [node, link] of links) {
      if (!Array.isArray(link)) close(link);
      this.#parts.failed(node);
    }
  }

  #fail(node: string, link: Link): void {
    if (this.#links.get(node) !== link) return;
    this.#links.delete(node);
    this.#parts.failed(node);
  }

  #write(node: string, socket: WorkerWebSocket, message: Uint8Array): void {
    try {
      socket.send(message);
    } catch {
      // It is closed, which its event has not said yet.
      queueMicrotask(() => this.ended(node, socket));
    }
  }
}

function close(socket: WorkerWebSocket): void {
  try {
    socket.close(RETIRED);
  } catch {
    // it is closed, or has never been open
  }
}
