/**
 * What the streams of sessions have sent, for clients whose stream has broken.
 *
 * A client sends the id of the last event that it has read, and gets what its stream has sent since. How
 * much is kept is limited for each session and for all of an office; an answer that has no room any more
 * becomes an error, so that its client does not wait for it.
 *
 * @module
 */
import {
  type EventStore,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { roomOf } from "../../shared/json/values.ts";

/** The most events of a session. */
const MAX_EVENTS = 1_000;
/** The most letters of the events of a session; the newest event is kept in any case. */
const MAX_LETTERS_PER_SESSION = 8 * 2 ** 20;
/** The most letters of all sessions of an office. */
const MAX_LETTERS = 64 * 2 ** 20;

/** An event that may be sent again. */
interface KeptEvent {
  readonly session: SessionEvents;
  readonly id: string;
  readonly stream: string;
  message: JSONRPCMessage;
  letters: number;
}

/** The room for the events of all sessions of an office. */
export class EventRoom {
  /** Those that take room; the oldest come first. */
  readonly #events = new Set<KeptEvent>();
  #letters = 0;

  /** Adds an event, for which older ones may have to go. */
  add(event: KeptEvent): void {
    this.#events.add(event);
    this.#letters += event.letters;
    for (const oldest of this.#events) {
      if (this.#letters <= MAX_LETTERS) break;
      if (oldest !== event) oldest.session.shrink(oldest);
    }
  }

  /** Takes an event out. */
  remove(event: KeptEvent): void {
    if (this.#events.delete(event)) this.#letters -= event.letters;
  }
}

/** The events of one session, as its transport keeps and repeats them. */
export class SessionEvents implements EventStore {
  readonly #room: EventRoom;
  /** By id; the oldest come first. */
  readonly #events = new Map<string, KeptEvent>();
  /** Streams whose answer has not been sent. */
  readonly #open = new Set<string>();
  #count = 0;
  #letters = 0;

  constructor(room: EventRoom) {
    this.#room = room;
  }

  /** Whether anything is known of the stream of an event, or will be sent on it. */
  has(id: string): boolean {
    const [, , stream = ""] = ID.exec(id) ?? [];
    return this.#open.has(stream) ||
      [...this.#events.values()].some((event) => event.stream === stream);
  }

  /** Keeps an event; returns its id. */
  storeEvent(stream: string, sent: JSONRPCMessage): Promise<string> {
    const id = `${++this.#count}-${stream}`;
    const message = asRead(sent);
    // The first event of a stream has nothing but an id.
    const isFirst = Object.keys(message).length === 0;
    if (isFirst || stream === CHANGES) this.#open.add(stream);
    else if (isAnswer(message)) this.#open.delete(stream);
    if (!isFirst) this.#add(id, stream, message);
    return Promise.resolve(id);
  }

  /** Sends what a stream has sent after an event; returns the stream. */
  async replayEventsAfter(
    lastId: string,
    { send }: {
      readonly send: (id: string, message: JSONRPCMessage) => Promise<void>;
    },
  ): Promise<string> {
    const [, last, stream = ""] = ID.exec(lastId) ?? [];
    for (const event of [...this.#events.values()]) {
      const isLater = numberOf(event.id) > Number(last);
      if (event.stream === stream && isLater) {
        await send(event.id, event.message);
      }
    }
    return stream;
  }

  /** Frees the room of an event: an answer becomes an error, anything else goes. */
  shrink(event: KeptEvent): void {
    this.#free(event);
    const { message } = event;
    if (isAnswer(message)) {
      const { id } = message;
      event.message = { ...NOT_KEPT, ...(id !== undefined && { id }) };
    } else this.#events.delete(event.id);
  }

  /** Forgets all of them. */
  clear(): void {
    for (const event of this.#events.values()) this.#free(event);
    this.#events.clear();
  }

  #add(id: string, stream: string, message: JSONRPCMessage): void {
    const letters = roomOf(message);
    const event = { session: this, id, stream, message, letters };
    this.#events.set(id, event);
    this.#letters += letters;
    this.#room.add(event);
    for (const oldest of this.#events.values()) {
      if (this.#letters <= MAX_LETTERS_PER_SESSION) break;
      if (oldest !== event) this.shrink(oldest);
    }
    for (const oldest of this.#events.values()) {
      if (this.#events.size <= MAX_EVENTS) break;
      this.#free(oldest);
      this.#events.delete(oldest.id);
    }
  }

  #free(event: KeptEvent): void {
    this.#room.remove(event);
    this.#letters -= event.letters;
    event.letters = 0;
  }
}

const ID = /^(\d+)-(.+)$/;

const numberOf = (id: string): number => Number.parseInt(id, 10);

/** The stream of changes, as the MCP SDK calls it. */
const CHANGES = "_GET_stream";

const isAnswer = (
  message: JSONRPCMessage,
): message is JSONRPCResultResponse | JSONRPCErrorResponse =>
  !("method" in message);

const NOT_KEPT = {
  jsonrpc: "2.0" as const,
  error: {
    code: ProtocolErrorCode.InternalError,
    message:
      "The request was answered while its stream was broken, and the answer is not kept any more: those that came later took the room, which is limited",
  },
};

/** Returns a message as its client reads it, which the transport may have under ids of its own. */
function asRead(
  message: JSONRPCMessage & { toJSON?: unknown },
): JSONRPCMessage {
  const { toJSON } = message;
  return typeof toJSON === "function" ? toJSON() : message;
}
