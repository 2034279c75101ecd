import { Decoder, Encoder } from "socket.io-parser";
import { judgePlaceholders } from "./attachments.ts";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "../json/characters.ts";
import { judgeHead, purposeOf } from "./packet_head.ts";
import { PacketTurns } from "./packet_turns.ts";
import { unfinishedPacketOf } from "../stock/private_fields.ts";
import { MAX_ELEMENTS } from "./read_packet.ts";
import { MAX_DEPTH } from "../json/scan_json.ts";

/**
 * Checks the nesting and the number of elements of a packet; returns why it is refused, or
 * `undefined`.
 *
 * Deep nesting overflows the stack when the payload is encoded again, and so do many elements, which
 * Socket.IO spreads over a call's arguments: both would end the process. One linear scan; invalid
 * JSON is left to the decoder, which refuses it.
 */
export function judgePacket(text: string): string | undefined {
  let depth = 0;
  let elements = 1;
  for (let i = bodyStart(text); i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = stringEnd(text, i);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH) {
          return `more than ${MAX_DEPTH} open brackets at once`;
        }
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        if (depth === 1 && ++elements > MAX_ELEMENTS) {
          return `more than ${MAX_ELEMENTS} elements`;
        }
        break;
    }
  }
  return undefined;
}

/** The namespace is free text: a quote in it must not count as the start of a string. */
function bodyStart(text: string): number {
  const head = /^\d?(?:\d*-)?(\/[^,]*,?)?/.exec(text);
  return head ? head[0].length : 0;
}

/** Returns the index of the closing quote of the string at `start`; the text's end if there is none. */
function stringEnd(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
  } while (isEscaped(text, end));
  return end;
}

/** Returns whether an odd number of backslashes precedes the quote at `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
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

/** Checks packets before the stock decoder; a violation closes the connection. */
export class PacketDecoder extends Decoder {
  readonly #guard: PacketGuard | undefined;
  readonly #turns: PacketTurns;
  #take: ((data: unknown) => boolean) | undefined;

  /** @param guard the connection's guard; absent if another decoder has already checked the packets */
  constructor(guard?: PacketGuard) {
    super();
    this.#guard = guard;
    this.#turns = new PacketTurns(
      (data) => this.#addGuarded(data),
      (held) => guard?.hold(held),
    );
  }

  /** Passes all further packets to `take`; decodes those that it does not accept. */
  divert(take: (data: unknown) => boolean): void {
    this.#take = take;
  }

  /** Whether packets are queued, which later ones must not overtake. */
  get isBehind(): boolean {
    return this.#turns.isBehind;
  }

  /** Whether a packet waits for its attachments. */
  get isCollecting(): boolean {
    return unfinishedPacketOf(this) !== undefined;
  }

  /** Decodes the next packet or attachment. */
  override add(data: unknown): void {
    if (this.#guard === undefined) return this.#add(data);
    if (this.#turns.take()) return this.#addGuarded(data);
    const fault = this.#turns.wait(data);
    if (fault !== undefined) this.#guard.refuse(fault);
  }

  /** Drops the unfinished packet and all queued ones. */
  override destroy(): void {
    this.#turns.end();
    super.destroy();
  }

  #addGuarded(data: unknown): void {
    try {
      const fault = (typeof data === "string" ? judgeHead(data) : undefined) ??
        this.#guard?.judge(data);
      if (fault !== undefined) throw new PacketError(fault);
      if (!this.#take?.(data)) this.#add(data);
    } catch (error) {
      // Error messages of the stock decoder contain no part of the packet.
      this.#guard?.refuse(error instanceof Error ? error.message : "invalid");
    }
  }

  #add(data: unknown): void {
    if (typeof data !== "string") return super.add(data);
    const fault = judgePacket(data);
    if (fault !== undefined) throw new PacketError(fault);
    super.add(data);
    if (purposeOf(data) !== "binary") return;
    const packet = unfinishedPacketOf(this);
    const wrong = judgePlaceholders(packet?.data, packet?.attachments ?? 0);
    if (wrong !== undefined) throw new PacketError(wrong);
  }
}

/** Why a packet was refused. */
class PacketError extends Error {
  override readonly name = "PacketError";
}

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
