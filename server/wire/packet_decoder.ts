import { Decoder, Encoder, PacketType } from "socket.io-parser";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./characters.ts";
import { MAX_ELEMENTS } from "./read_packet.ts";
import { MAX_DEPTH } from "./scan_json.ts";

/**
 * Tells why a packet must not be decoded, or `undefined` when it may be.
 *
 * What is nested deeply overflows the stack when it is encoded again, and Socket.IO spreads the
 * elements of an event or ack over a call's arguments, which overflows it as well: both would end
 * the process. One linear scan; text that is no JSON is left to the decoder, which refuses it.
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

/** The namespace is free text: a quote in it must not pass for the start of a string. */
function bodyStart(text: string): number {
  const head = /^\d?(?:\d*-)?(\/[^,]*,?)?/.exec(text);
  return head ? head[0].length : 0;
}

/** Index of the quote that ends the string which starts at `start`; the text's end when none does. */
function stringEnd(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
  } while (isEscaped(text, end));
  return end;
}

/** An odd number of backslashes before it makes a quote part of its string. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/**
 * A connection that asks for so many sessions in its life is closed: Socket.IO makes an object of
 * each before anybody can refuse it, and one request can ask for a million.
 */
const MAX_CONNECTS = 1000;

/** What packets that ask for a session start with. */
const CONNECT = String(PacketType.CONNECT);

/** The stock decoder behind {@linkcode judgePacket}: what it throws closes the sender. */
export class PacketDecoder extends Decoder {
  #take: ((data: unknown) => boolean) | undefined;
  #connects = 0;

  /** Lets `take` have what comes from now on; what it does not take is decoded as ever. */
  divert(take: (data: unknown) => boolean): void {
    this.#take = take;
  }

  /** Takes the next part of what the client sent. */
  override add(data: unknown): void {
    if (this.#take?.(data)) return;
    if (typeof data === "string") {
      const fault = data.startsWith(CONNECT) && ++this.#connects > MAX_CONNECTS
        ? `more than ${MAX_CONNECTS} connects`
        : judgePacket(data);
      if (fault !== undefined) throw new Error(`Packet refused: ${fault}`);
    }
    super.add(data);
  }
}

/** The `parser` option of the Socket.IO server. */
export const guardedParser: {
  Encoder: typeof Encoder;
  Decoder: typeof Decoder;
} = { Encoder, Decoder: PacketDecoder };
