/**
 * The rules before the stock parser of Socket.IO: what a packet may begin with, how deep it is nested,
 * what its attachments may be, and how many packets of a connection are handled in one turn. The session
 * gets a packet first, and the stock parser what the session does not take.
 *
 * @module
 */
import { Decoder, Encoder, type Packet } from "socket.io-parser";
import { clearImmediate, setImmediate } from "node:timers";
import { Char, MAX_DEPTH } from "./script_scanner.ts";
import { MAX_ELEMENTS } from "./json_text.ts";

/** The first characters of a packet: its type, and the number of attachments of a binary one. */
const HEAD = /^(?:[0-4]|[56](\d{1,15})-)/;

/**
 * Checks the first characters of a packet; returns why it is refused, or `undefined`.
 *
 * The stock decoder converts the first character to a number: a space would become 0, a CONNECT.
 */
export function judgeHead(text: string): string | undefined {
  const head = HEAD.exec(text);
  if (head === null) return "no packet of Socket.IO begins like this";
  const [, attachments] = head;
  if (attachments !== undefined && Number(attachments) > MAX_ATTACHMENTS) {
    return `more than ${MAX_ATTACHMENTS} attachments`;
  }
  return undefined;
}

/** Returns the kind of a packet by its first character, as far as it matters before decoding. */
export function purposeOf(
  text: string,
): "connect" | "disconnect" | "binary" | "other" {
  switch (text[0]) {
    case "0":
      return "connect";
    case "1":
      return "disconnect";
    case "5":
    case "6":
      return "binary";
    default:
      return "other";
  }
}

/** Maximum number of binary attachments in a packet; stock clients refuse more. */
const MAX_ATTACHMENTS = 10;

/**
 * Checks the placeholders of a packet; returns why it is refused, or `undefined`.
 *
 * Each attachment may be referenced once: a relayed packet has a copy of its bytes per reference.
 *
 * @param data payload of the packet, with `_placeholder` objects for its attachments
 * @param attachments number of attachments that the packet announces
 */
export function judgePlaceholders(
  data: unknown,
  attachments: number,
): string | undefined {
  const seen = new Set<number>();
  const left: unknown[] = [data];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Reflect.get(value, "_placeholder") === true) {
      const num: unknown = Reflect.get(value, "num");
      if (!isIndex(num, attachments)) {
        return `a placeholder for an attachment that is not among its ${attachments}`;
      }
      if (seen.has(num)) return "two placeholders of one attachment";
      seen.add(num);
    } else {
      // No spread: an array may have more items than a call can have arguments.
      for (const item of Object.values(value)) left.push(item);
    }
  }
  return undefined;
}

const isIndex = (num: unknown, count: number): num is number =>
  typeof num === "number" && Number.isInteger(num) && num >= 0 && num < count;

/** The most characters of a packet that the stock decoder parses, without its attachments. */
const MAX_STOCK_CHARS = 1_048_576;

/** The most commas, colons and opening brackets in it: a value or a name each. */
const MAX_STOCK_VALUES = 20_000;

/**
 * Checks the nesting and the numbers of elements and values of a packet; returns why it is refused, or
 * `undefined`.
 *
 * Deep nesting overflows the stack when the payload is encoded again, and so do many elements, which
 * Socket.IO spreads over a call's arguments: both would end the process. Many values take long to parse.
 * One linear scan; invalid JSON is left to the decoder, which refuses it.
 */
export function judgePacket(text: string): string | undefined {
  // What opens a session has a bound of its own, and is not sent again.
  const isBounded = purposeOf(text) !== "connect";
  if (isBounded && text.length > MAX_STOCK_CHARS) {
    return `an unusual packet of more than ${MAX_STOCK_CHARS} characters`;
  }
  let depth = 0;
  let elements = 1;
  let values = 0;
  let i = BEFORE_BODY.exec(text)?.[0].length ?? 0;
  for (; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case Char.QUOTE:
        i = stringEnd(text, i);
        break;
      case Char.OPEN_ARRAY:
      case Char.OPEN_OBJECT:
        if (++depth > MAX_DEPTH) {
          return `more than ${MAX_DEPTH} open brackets at once`;
        }
        values++;
        break;
      case Char.COLON:
        values++;
        break;
      case Char.CLOSE_ARRAY:
      case Char.CLOSE_OBJECT:
        depth--;
        break;
      case Char.COMMA:
        if (depth === 1 && ++elements > MAX_ELEMENTS) {
          return `more than ${MAX_ELEMENTS} elements`;
        }
        values++;
        break;
    }
  }
  return isBounded && values > MAX_STOCK_VALUES
    ? `an unusual packet of more than ${MAX_STOCK_VALUES} values`
    : undefined;
}

/** What precedes the payload. The namespace is free text: a quote in it must not count as the start of a string. */
const BEFORE_BODY = /^\d?(?:\d*-)?(?:\/[^,]*,?)?/;

/** Returns the index of the closing quote of the string at `start`; the text's end if there is none. */
function stringEnd(text: string, start: number): number {
  let end = start;
  let slash: number;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    slash = end;
    while (text.charCodeAt(slash - 1) === Char.BACKSLASH) slash--;
  } while ((end - slash) % 2 === 1); // an odd number of backslashes escapes the quote
  return end;
}

/** Decides which packets a connection may send, in addition to the rules for all packets. */
export interface PacketGuard {
  /** @returns why a packet is refused; `undefined` when it is not */
  judge(packet: unknown): string | undefined;
  /** Closes the connection; only the first reason counts. */
  refuse(reason: string): void;
  /** Pauses or resumes reading, if the transport supports it. */
  hold(held: boolean): void;
}

/** Maximum number of packets of one connection, and of all that are behind, that are handled in one turn. */
const MAX_PACKETS_PER_TURN = 100;

/** Maximum number of queued packets. */
const MAX_QUEUED = 10_000;

/** Those with queued packets, in the order of their turns. */
const behind = new Set<PacketDecoder>();
let immediate: ReturnType<typeof setImmediate> | undefined;

/** Handles packets of one connection after the other: the more are behind, the longer each has to wait. */
function turn(): void {
  immediate = undefined;
  let left = MAX_PACKETS_PER_TURN;
  for (const decoder of behind) {
    if (left <= 0) break;
    behind.delete(decoder);
    left -= decoder.takeTurn(left);
    if (decoder.queue) behind.add(decoder);
  }
  if (behind.size > 0) immediate ??= setImmediate(turn);
}

/**
 * Checks packets before the stock decoder; a violation closes the connection. Spreads many packets of one
 * connection, such as those of one POST or one segment of frames, over several turns of the event loop.
 */
export class PacketDecoder extends Decoder {
  readonly #guard: PacketGuard | undefined;
  /** Packets handled in the current run of synchronous work. */
  #handled = 0;
  /** Packets that wait for their turn, if any; later ones must not overtake them. */
  queue: unknown[] | undefined;
  #take: ((data: unknown) => boolean) | undefined;

  /** @param guard the connection's guard; absent if another decoder has already checked the packets */
  constructor(guard?: PacketGuard) {
    super();
    this.#guard = guard;
  }

  /** Passes all further packets to `take`; decodes those that it does not accept. */
  divert(take: (data: unknown) => boolean): void {
    this.#take = take;
  }

  /** Whether a packet waits for its attachments. */
  get isCollecting(): boolean {
    return unfinishedPacketOf(this) !== undefined;
  }

  /** Decodes the next packet or attachment; with a guard, later if many came in this turn. */
  override add(data: unknown): void {
    const guard = this.#guard;
    if (guard === undefined) return this.#add(data);
    if (!this.queue && this.#handled < MAX_PACKETS_PER_TURN) {
      if (this.#handled++ === 0) queueMicrotask(() => this.#handled = 0);
      return this.#addGuarded(data);
    }
    if (!this.queue) guard.hold(true);
    const queue = this.queue ??= [];
    if (queue.length >= MAX_QUEUED) {
      return guard.refuse(`more than ${MAX_QUEUED} packets at once`);
    }
    queue.push(data);
    behind.add(this);
    immediate ??= setImmediate(turn);
  }

  /** Handles queued packets, at most so many; returns how many. */
  takeTurn(most: number): number {
    const { queue = [] } = this;
    let handled = 0;
    for (const packet of queue.splice(0, most)) {
      handled++;
      this.#addGuarded(packet);
      if (this.queue !== queue) break; // that packet ended the connection
    }
    if (this.queue?.length === 0) this.#clear();
    return handled;
  }

  /** Drops the unfinished packet and all queued ones. */
  override destroy(): void {
    if (behind.delete(this) && behind.size === 0) {
      clearImmediate(immediate);
      immediate = undefined;
    }
    this.#clear();
    super.destroy();
  }

  #clear(): void {
    const wasHeld = this.queue !== undefined;
    this.queue = undefined; // first: what is read from now on must not be queued and lost
    if (wasHeld) this.#guard?.hold(false);
  }

  #addGuarded(data: unknown): void {
    try {
      const fault = (typeof data === "string" ? judgeHead(data) : undefined) ??
        this.#guard?.judge(data);
      if (fault !== undefined) throw new Error(fault);
      if (!this.#take?.(data)) this.#add(data);
    } catch (error) {
      // Error messages of the stock decoder contain no part of the packet.
      this.#guard?.refuse(error instanceof Error ? error.message : "invalid");
    }
  }

  #add(data: unknown): void {
    if (typeof data !== "string") return super.add(data);
    const fault = judgePacket(data);
    if (fault !== undefined) throw new Error(fault);
    super.add(data);
    if (purposeOf(data) !== "binary") return;
    const packet = unfinishedPacketOf(this);
    const wrong = judgePlaceholders(packet?.data, packet?.attachments ?? 0);
    if (wrong !== undefined) throw new Error(wrong);
  }
}

/** Returns the packet whose attachments a decoder is waiting for, if any: a field that its type declares private. */
export const unfinishedPacketOf = (decoder: Decoder): Packet | undefined =>
  decoder["reconstructor"]?.["packet"];

/**
 * The `parser` option of the Socket.IO server.
 *
 * @param guardOf returns the guard of the connection for which a decoder is created
 */
export const guardedParser = (
  guardOf: () => PacketGuard,
): { Encoder: typeof Encoder; Decoder: typeof Decoder } => ({
  Encoder,
  Decoder: class extends PacketDecoder {
    constructor() {
      super(guardOf());
    }
  },
});
