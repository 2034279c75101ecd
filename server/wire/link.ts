/**
 * What a session sends and receives. A message comes here by the tap of its WebSocket, before Engine.IO,
 * or by the decoder of its connection; the fast path reads it as bytes, the stock parser all that is
 * unusual. What is sent goes the same two ways.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { Encoder, type Packet, PacketType } from "socket.io-parser";
import { randomInt } from "node:crypto";
import { SMCP_NAMESPACE } from "../../protocol/mod.ts";
import { swapRemove } from "../../shared/swap_list.ts";
import type {
  ClientSocket,
  PacketData,
  SharedText,
  TapSocket,
  WireConnection,
} from "./wire_connection.ts";
import {
  type ByteRange,
  type DecodedText,
  JsonText,
  readPacket,
} from "./json_text.ts";
import { PacketDecoder } from "./packet_decoder.ts";
import { Payload } from "../shared/payload.ts";

/** Sends the answer to an event: a payload, or all arguments of its ack; nothing once the client is gone. */
export type Ack = (answer: Payload | readonly unknown[] | undefined) => void;

/** Takes the first argument of an ack, if it has one. */
type Answered = (answer: Payload | undefined) => void;

/** First character of Engine.IO's message packets. */
const MESSAGE = 0x34;

/** Engine.IO's answer to a ping. */
const PONG = Buffer.from("3");

const encoder = new Encoder();

/**
 * Sends and receives the events and acks of one session, whatever its transport.
 *
 * Works in parallel to Socket.IO, which manages the connection and the namespace. Payloads
 * that Socket.IO would parse, queue and stringify pass through here as bytes. All packets take effect
 * synchronously, in the order of their arrival.
 */
export abstract class Link {
  readonly socket: ClientSocket;
  readonly #conn: WireConnection;
  readonly #events: ReadonlyMap<string, number>;
  /** The decoder of the connection, which offers its packets to this session. */
  readonly #decoder: PacketDecoder | undefined;
  /** Decodes a packet that the fast path does not accept, until it has all its attachments. */
  #stock: PacketDecoder | undefined;
  /** Requests without an answer so far: a list, since the number of a client's calls is limited. */
  readonly #waiting: { readonly id: number; readonly answered: Answered }[] =
    [];
  #upgraded: (() => void) | undefined;
  #frames: TapSocket | undefined;
  #ended = false;

  /**
   * @param socket a socket that has just connected
   * @param events the most bytes of each event's payload, by its name
   */
  constructor(socket: ClientSocket, events: ReadonlyMap<string, number>) {
    this.socket = socket;
    this.#conn = socket.conn;
    this.#events = events;
    this.#decoder = socket.decoder;
    this.#decoder?.divert((data) => this.#take(data));
    this.#listen();
    if (this.#frames) return; // a WebSocket never changes its transport
    this.#upgraded = () => this.#listen();
    this.#conn.on("upgrade", this.#upgraded);
  }

  /**
   * Called with every event of the client; must not throw.
   *
   * @param payload the first argument; further arguments are dropped
   * @param ack absent when the client did not ask for an answer
   */
  protected abstract receive(
    event: string,
    payload: Payload,
    ack: Ack | undefined,
  ): void;

  /** Sends a notification; its encoding is kept for the next member that gets the same payload. */
  send(event: string, payload: Payload): void {
    if (this.#ended) return;
    const { packets, shared } = encodingOf(event, payload);
    const frames = shared && this.#direct;
    if (frames) frames.sendShared(shared);
    else this.#write(packets);
  }

  /**
   * Sends a request.
   *
   * @param answered called once
   * @returns forgets the request: a late answer is dropped
   */
  ask(event: string, payload: Payload, answered: Answered): () => void {
    const id = next ?? randomInt(MAX_FIRST_ID);
    next = id + 1;
    this.#waiting.push({ id, answered });
    const forget = () => void this.#takeWaiting(id);
    try {
      if (payload instanceof JsonText) {
        const name = JSON.stringify(event);
        this.#sendJson(`2${SMCP_NAMESPACE},${id}[${name},`, payload);
      } else {
        this.#write(encode(PacketType.EVENT, [event, payload.parse()], id));
      }
    } catch (error) {
      forget();
      throw error;
    }
    return forget;
  }

  /** Stops receiving and sending; the connection may stay open, and its client rejoin over it. */
  unlink(): void {
    this.#ended = true;
    this.#waiting.length = 0;
    this.#stock?.destroy();
    if (this.#upgraded) this.#conn.off("upgrade", this.#upgraded);
    if (this.#frames) this.#frames.tap = this.#frames.progress = undefined;
  }

  #listen(): void {
    const conn = this.#conn;
    const frames = this.#ended ? undefined : conn.admit();
    if (frames === undefined) return;
    this.#frames = frames;
    // A part of a message counts as a pong: the real one has to wait until the message has ended.
    frames.progress = () => {
      if (conn.isOpen && conn.isPongDue) frames.emit("message", PONG, false);
    };
    // Takes the next message, unless it concerns more than this session.
    frames.tap = (message) => {
      const isText = "text" in message;
      const { start } = message;
      const type = isText ? message.text.charCodeAt(0) : message.bytes[start];
      return type === MESSAGE && !this.#ended && !this.#stock &&
        // Packets that came over polling before an upgrade may still wait for their turn.
        !this.#decoder?.queue &&
        // While a pong is due, the first message shows Engine.IO that the client is alive.
        conn.isKnownAlive &&
        this.#takeText(message, start + 1);
    };
  }

  /** Handles a packet of Engine.IO before Socket.IO; returns whether it belongs to the session. */
  #take(data: unknown): boolean {
    if (this.#ended) return false;
    if (typeof data !== "string") {
      if (!this.#stock) return false;
      this.#decode(data);
      return true;
    }
    if (data.startsWith(LEAVE)) {
      this.#ended = true; // Socket.IO does the rest afterwards
      return false;
    }
    if (!OURS.test(data)) return false;
    const text = { text: data, start: 0, end: Buffer.byteLength(data) };
    if (this.#stock || !this.#takeText(text, 0)) this.#decode(data);
    return true;
  }

  /** Decodes a packet with a stock decoder, which idle sessions do not keep. */
  #decode(data: unknown): void {
    let decoder = this.#stock;
    if (decoder === undefined) {
      decoder = new PacketDecoder();
      decoder.on("decoded", (packet: Packet) => this.#decoded(packet));
    }
    decoder.add(data);
    this.#stock = !this.#ended && decoder.isCollecting ? decoder : undefined;
  }

  #takeText(text: ByteRange | DecodedText, start: number): boolean {
    const packet = readPacket(text, start, this.#events);
    if (packet === undefined) return false;
    const { event, id, body } = packet;
    if (event === undefined) this.#takeWaiting(id)?.(body);
    else this.receive(event, body, this.#ackOf(id));
    return true;
  }

  #decoded({ type, id, data }: Packet): void {
    // The decoder catches this, and closes the connection.
    if (!Array.isArray(data)) throw new Error("Packet refused: no payload");
    const [first, second]: unknown[] = data;
    if (type === PacketType.ACK) {
      const answer = first === undefined ? undefined : Payload.of(first);
      this.#takeWaiting(id)?.(answer);
    } else {
      // Socket.IO lets the name of an event be a number.
      this.receive(String(first), Payload.of(second), this.#ackOf(id));
    }
  }

  #takeWaiting(id: number | undefined): Answered | undefined {
    const waiting = this.#waiting;
    let at = 0;
    while (at < waiting.length && waiting[at]?.id !== id) at++;
    const found = waiting[at];
    if (found) swapRemove(waiting, at);
    return found?.answered;
  }

  /** A function of its own, so that the ack does not capture the payload. */
  #ackOf(id: number | undefined): Ack | undefined {
    if (id === undefined) return undefined;
    return (answer) => {
      if (answer === undefined || this.#ended) return;
      if (answer instanceof JsonText) {
        return this.#sendJson(`3${SMCP_NAMESPACE},${id}[`, answer);
      }
      const data = answer instanceof Payload ? [answer.parse()] : answer;
      this.#write(encode(PacketType.ACK, data, id));
    };
  }

  /** The WebSocket to send on directly, unless Engine.IO has packets to send first. */
  get #direct(): TapSocket | undefined {
    const conn = this.#conn;
    return conn.isOpen && !conn.hasQueued ? this.#frames : undefined;
  }

  #sendJson(head: string, body: JsonText): void {
    const frames = this.#direct;
    if (frames) frames.sendJson(`4${head}`, body);
    else this.#conn.write(`${head}${body.text()}]`);
  }

  #write(packets: readonly PacketData[]): void {
    for (const packet of packets) this.#conn.write(packet);
  }
}

function encode(type: PacketType, data: readonly unknown[], id?: number) {
  const packet: Packet = { type, nsp: SMCP_NAMESPACE, data };
  if (id !== undefined) packet.id = id;
  return encoder.encode(packet);
}

/** A notification as it is sent. */
interface Encoding {
  /** A packet of text, and its attachments. */
  readonly packets: readonly PacketData[];
  /** The same as one message for any WebSocket; absent with attachments. */
  readonly shared: SharedText | undefined;
}

/** The encodings of a payload by the names of its event. */
const encodings = new WeakMap<Payload, Map<string, Encoding>>();

/** Encodes a notification, once for all members that get it. */
function encodingOf(event: string, payload: Payload): Encoding {
  let known = encodings.get(payload);
  if (known === undefined) encodings.set(payload, known = new Map());
  let encoding = known.get(event);
  if (encoding === undefined) {
    const packets = payload instanceof JsonText
      ? [`2${SMCP_NAMESPACE},[${JSON.stringify(event)},${payload.text()}]`]
      : encode(PacketType.EVENT, [event, payload.parse()]);
    const shared = packets.length === 1
      ? { text: `4${packets[0]}` }
      : undefined;
    known.set(event, encoding = { packets, shared });
  }
  return encoding;
}

/** The packet with which a client leaves the namespace. */
const LEAVE = `1${SMCP_NAMESPACE}`;

/** Events and acks of the namespace, with and without attachments. */
const OURS = new RegExp(`^(?:[23]|[56][^/]*)${SMCP_NAMESPACE},`);

/** Bound of the first id: leaves a billion ids to clients that read them as signed 32-bit numbers. */
const MAX_FIRST_ID = 2 ** 30;

/**
 * The id of the next request to any client: a late answer of one that reconnected, in any office, must
 * not answer a request of its new session. Begins at random, since such a client may outlive the process,
 * and is drawn when it is first used: Cloudflare has no random values before the first request.
 */
let next: number | undefined;
