/**
 * Connections of Engine.IO, version 4, behind `fetch`: polls and POSTs, the change to a WebSocket, pings
 * and closing; and its packets, as text and bytes.
 *
 * @module
 */
import { EventEmitter } from "node:events";
import type { Incoming, RequestHead } from "../shared/http.ts";
import type {
  CutOff,
  EngineOptions,
  PacketData,
  WireConnection,
} from "./wire_connection.ts";
import type { FetchSocket } from "./fetch_socket.ts";
import { bytesOf } from "./payload_bytes.ts";
import { Buffer } from "node:buffer";

/** How long a client may take from its probe to its upgrade. */
const UPGRADE_TIMEOUT_MS = 10_000;

/** How often a poll is ended while an upgrade waits for it. */
const PROBE_INTERVAL_MS = 100;

/** How long a closing connection waits for the next poll of its client, which gets the close packet. */
const LEAVE_TIMEOUT_MS = 30_000;

/** What a connection announces to its client. */
type ConnectionOptions = Pick<EngineOptions, "maxMessageBytes" | "heartbeat">;

type Timer = ReturnType<typeof setTimeout>;

/**
 * A client's connection of Engine.IO, version 4, as the stock server has it: over polling, over a
 * WebSocket, or over the first and then the second.
 *
 * Events: those of `WireConnection`, and `message` with the data of each.
 */
export class EngineConnection extends EventEmitter implements WireConnection {
  readonly request: RequestHead;
  readonly #options: ConnectionOptions;
  #state: "open" | "closing" | "closed" = "open";
  #queue: EnginePacket[] = [];
  #ws: FetchSocket | undefined;
  /** Answers the poll that waits. */
  #poll: ((payload: string) => void) | undefined;
  /** The POST that is read. */
  #post: Incoming | undefined;
  /** Ends the upgrade that has begun. */
  #fail: (() => void) | undefined;
  /** Whether anything came since the last ping. */
  #isAlive = true;
  #ping: Timer | undefined;
  #pong: Timer | undefined;
  /** Runs until the next poll, which is answered by a close packet. */
  #leave: Timer | undefined;

  /**
   * @param sid its id
   * @param request opened it
   * @param ws the WebSocket that it begins with, if it does not begin with polling
   */
  constructor(
    sid: string,
    request: RequestHead,
    options: ConnectionOptions,
    ws?: FetchSocket,
  ) {
    super();
    this.request = request;
    this.#options = options;
    const { maxMessageBytes: maxPayload, heartbeat } = options;
    const data = JSON.stringify({
      sid,
      upgrades: ws ? [] : ["websocket"],
      pingInterval: heartbeat.intervalMs,
      pingTimeout: heartbeat.timeoutMs,
      maxPayload,
    });
    this.#queue.push({ type: "open", data });
    if (ws) {
      this.#ws = ws;
      read(ws, (it) => this.#take(it), (reason) => this.#end(reason));
      this.#flush();
    }
    this.#schedulePing();
  }

  get remoteAddress(): string {
    return this.request.socket.remoteAddress ?? "";
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isWritable(): boolean {
    return this.#ws !== undefined || this.#poll !== undefined;
  }

  get hasQueued(): boolean {
    return this.#queue.length > 0;
  }

  get isPongDue(): boolean {
    return this.#pong !== undefined;
  }

  get isKnownAlive(): boolean {
    return this.isOpen && (this.#pong === undefined || this.#isAlive);
  }

  /** The name of its transport. */
  get transport(): "polling" | "websocket" {
    return this.#ws ? "websocket" : "polling";
  }

  write(data: PacketData): void {
    const isText = typeof data === "string";
    this.#send({ type: "message", data: isText ? data : bytesOf(data) });
  }

  close(discard = false): void {
    if (discard) return this.#end("forced close");
    if (this.#state !== "open") return;
    this.#state = "closing";
    if (this.hasQueued) this.once("drain", () => this.#part());
    else this.#part();
  }

  admit(): FetchSocket | undefined {
    this.#ws?.admit();
    return this.#ws;
  }

  limitQueue(maxBytes: number, cutOff: CutOff): boolean {
    this.#ws?.limitQueue(maxBytes, cutOff);
    return this.#ws !== undefined;
  }

  whenGone(gone: () => void): void {
    if (this.#ws) this.#ws.whenGone(gone);
    else gone();
  }

  /**
   * Waits for packets.
   *
   * @param answer called once with them, possibly before this returns
   * @returns what to call when its client is gone; `undefined` for a second poll at once, which ends the
   * connection
   */
  poll(answer: (payload: string) => void): (() => void) | undefined {
    if (this.#poll) return void this.#end("transport error");
    this.#poll = answer;
    this.#flush();
    if (this.#leave && this.isWritable) {
      this.#respond({ type: "noop" }, { type: "close" });
      this.#end("forced close");
    }
    return () => {
      if (this.#poll !== answer) return;
      this.#poll = undefined;
      this.#end("transport error");
    };
  }

  /**
   * Takes the packets of a POST.
   *
   * @param watch called with each part of it
   * @returns the status of the answer
   */
  async post(
    incoming: Incoming,
    watch: (part: string) => void,
  ): Promise<200 | 400 | 413> {
    const type = incoming.headers["content-type"];
    if (this.#post || type === "application/octet-stream") {
      incoming.resume();
      this.#end("transport error");
      return 400;
    }
    this.#post = incoming;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    let payload = "";
    let bytes = 0;
    try {
      for await (const chunk of incoming) {
        bytes += chunk.length;
        if (bytes > this.#options.maxMessageBytes) return 413;
        const part = decoder.decode(chunk, { stream: true });
        watch(part);
        payload += part;
      }
    } catch {
      // Its client is gone, or it was dropped: after an upgrade that ends nothing.
      if (this.#post === incoming) this.#end("transport error");
      return 400;
    } finally {
      if (this.#post === incoming) this.#post = undefined;
    }
    for (const packet of decodePayload(payload + decoder.decode())) {
      if (packet.type === "close") this.#end("transport close", "noop");
      else this.#take(packet);
    }
    return 200;
  }

  /** Changes to a WebSocket once its client has probed it; the last of several is closed. */
  upgrade(ws: FetchSocket): void {
    if (this.#state === "closed" || this.#ws || this.#fail) {
      ws.on("error", () => {});
      return ws.close();
    }
    let probe: Timer | undefined;
    const stop = () => {
      clearTimeout(timeout);
      clearInterval(probe);
      this.#fail = undefined;
    };
    const fail = this.#fail = () => {
      stop();
      ws.close();
    };
    const timeout = setTimeout(fail, UPGRADE_TIMEOUT_MS);
    const take = (packet: EnginePacket) => {
      if (this.#ws === ws) return this.#take(packet);
      if (this.#fail !== fail) return;
      if (packet.type === "ping" && packet.data === "probe") {
        ws.send("3probe");
        clearInterval(probe);
        // A poll that waits would delay the upgrade.
        const answer = () => this.#respond({ type: "noop" });
        probe = setInterval(answer, PROBE_INTERVAL_MS);
      } else if (packet.type === "upgrade") {
        stop();
        this.#change(ws);
      } else fail();
    };
    read(ws, take, (reason) => {
      if (this.#ws === ws) this.#end(reason);
      else if (this.#fail === fail) fail();
    });
  }

  #change(ws: FetchSocket): void {
    this.#post?.resume();
    this.#post = undefined;
    this.#respond({ type: "close" });
    this.#clearPong();
    this.#ws = ws;
    this.emit("upgrade");
    this.#flush();
    if (this.#state === "closing") this.#end("forced close");
  }

  #take(packet: EnginePacket): void {
    if (this.#state !== "open") return;
    this.emit("packet", packet);
    if (this.#pong && !this.#isAlive && packet.type !== "pong") {
      this.#isAlive = true;
      this.#awaitPong();
    }
    switch (packet.type) {
      case "ping": // only the server pings
        return this.#end("transport error");
      case "close":
        return this.#end("forced close");
      case "error":
        return this.#end("parse error");
      case "pong":
        this.#clearPong();
        return this.#schedulePing();
      case "message":
        this.emit("message", packet.data);
    }
  }

  #send(packet: EnginePacket): void {
    if (this.#state !== "open") return;
    this.emit("packetCreate", packet);
    this.#queue.push(packet);
    this.#flush();
  }

  #flush(): void {
    if (this.#state === "closed" || !this.isWritable || !this.hasQueued) return;
    this.emit("flush");
    const packets = this.#queue;
    this.#queue = [];
    if (this.#ws) { for (const it of packets) this.#ws.send(encodePacket(it)); }
    else this.#respond(...packets);
    this.emit("drain");
  }

  #respond(...packets: EnginePacket[]): void {
    const answer = this.#poll;
    this.#poll = undefined;
    answer?.(encodePayload(packets));
  }

  /** Closes, when all is sent: over polling with the next answer. */
  #part(): void {
    if (this.isWritable) return this.#end("forced close");
    this.#leave = setTimeout(() => this.#end("forced close"), LEAVE_TIMEOUT_MS);
  }

  /** @param last the packet that answers a waiting poll */
  #end(reason: string, last: "close" | "noop" = "close"): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    clearTimeout(this.#ping);
    clearTimeout(this.#leave);
    this.#clearPong();
    this.#respond({ type: last });
    this.#fail?.();
    this.#post?.resume();
    this.#ws?.close();
    this.#queue = [];
    this.emit("close", reason);
  }

  #schedulePing(): void {
    clearTimeout(this.#ping);
    this.#ping = setTimeout(() => {
      this.#isAlive = false;
      this.#send({ type: "ping" });
      this.#awaitPong();
    }, this.#options.heartbeat.intervalMs);
  }

  #awaitPong(): void {
    this.#clearPong();
    const { timeoutMs } = this.#options.heartbeat;
    this.#pong = setTimeout(() => this.#end("ping timeout"), timeoutMs);
  }

  #clearPong(): void {
    clearTimeout(this.#pong);
    this.#pong = undefined;
  }
}

/**
 * Reads a WebSocket.
 *
 * @param lost called when it is closed or has failed, possibly twice
 */
function read(
  ws: FetchSocket,
  take: (packet: EnginePacket) => void,
  lost: (reason: string) => void,
): void {
  ws.on("message", (data: string | Uint8Array) => take(decodePacket(data)));
  ws.once("close", () => lost("transport close"));
  ws.on("error", () => lost("transport error"));
}

/** The types of packets, in the order of their digits. */
const TYPES = [
  "open",
  "close",
  "ping",
  "pong",
  "message",
  "upgrade",
  "noop",
] as const;

type Type = typeof TYPES[number] | "error";

/** A packet; `error` stands for what is none. */
interface EnginePacket {
  /** Its type. */
  readonly type: Type;
  /** Its data, if it has any; bytes only in a `message`. */
  readonly data?: string | Uint8Array;
}

/** Separates the packets of a payload. */
const SEPARATOR = "\x1e";

/** Decodes a message of a WebSocket, or a packet of a payload. */
export function decodePacket(encoded: string | Uint8Array): EnginePacket {
  if (typeof encoded !== "string") return { type: "message", data: encoded };
  const data = encoded.slice(1);
  if (encoded[0] === "b") {
    return { type: "message", data: Buffer.from(data, "base64") };
  }
  const type = TYPES[encoded.charCodeAt(0) - 0x30];
  if (type === undefined) return { type: "error" };
  return data === "" ? { type } : { type, data };
}

/** Encodes a packet for a WebSocket. */
export const encodePacket = (
  { type, data = "" }: EnginePacket,
): string | Uint8Array =>
  typeof data === "string"
    ? `${TYPES.findIndex((it) => it === type)}${data}`
    : data;

/** Decodes the body of a POST, up to the first that is no packet. */
export function decodePayload(payload: string): EnginePacket[] {
  const packets = payload.split(SEPARATOR).map(decodePacket);
  const fault = packets.findIndex(({ type }) => type === "error");
  return fault < 0 ? packets : packets.slice(0, fault + 1);
}

/** Encodes packets for the answer to a poll, which is text. */
export const encodePayload = (packets: readonly EnginePacket[]): string =>
  packets.map((packet) => {
    const encoded = encodePacket(packet);
    return typeof encoded === "string"
      ? encoded
      : `b${Buffer.from(encoded).toString("base64")}`;
  }).join(SEPARATOR);
