import {
  isInitializeRequest,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from "@modelcontextprotocol/client";
import { cancelledBy } from "../office/request_ids.ts";
import { isListen } from "./messages.ts";

/** A message of the client that is not passed on yet, or the answer to an invalid line. */
type Waiting =
  | { readonly message: JSONRPCMessage }
  | { readonly refusal: JSONRPCMessage };

/** A place in the order of answers. */
interface Turn {
  /** The request; absent where the answer has been there from the beginning. */
  readonly id?: RequestId;
  answer?: JSONRPCMessage;
}

/**
 * What the client of a pipe has opened, and which of its messages wait.
 *
 * Messages after `initialize` wait for its answer, since before there is no session to which they
 * could belong. They are passed on then, and their answers are written in their order: a client that
 * has written them all at once is often a script that reads one line for each.
 */
export class Conversation {
  /** The resources that a client before 2026 has subscribed to. */
  readonly subscribed: Set<string> = new Set();
  /** The streams of changes that are open (2026). */
  readonly #listens = new Map<RequestId, JSONRPCRequest>();
  /** The other requests without an answer. */
  readonly #pending = new Set<RequestId>();
  readonly #waiting: Waiting[] = [];
  readonly #outgoing: JSONRPCMessage[] = [];
  #turns: Turn[] = [];
  /** An `initialize` that was passed on and has no answer. */
  #opening: JSONRPCRequest | undefined;
  #initialize: JSONRPCRequest | undefined;

  /** The `initialize` of the client (before 2026), once it has been answered. */
  get initialize(): JSONRPCRequest | undefined {
    return this.#initialize;
  }

  /** Its streams of changes (2026). */
  get listens(): JSONRPCRequest[] {
    return [...this.#listens.values()];
  }

  /** Whether `initialize` waits for its answer. */
  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** Whether every request is answered, and every answer taken by {@linkcode toWrite}. */
  get isIdle(): boolean {
    return this.#pending.size === 0 && this.#waiting.length === 0 &&
      this.#turns.length === 0 && this.#outgoing.length === 0;
  }

  /** Takes a message of the client. */
  take(message: JSONRPCMessage): void {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) this.#cancel(cancelled);
    if (isJSONRPCRequest(message)) this.#remember(message);
    this.#waiting.push({ message });
  }

  /** Takes the answer to a line that is no message. */
  refuse(refusal: JSONRPCMessage): void {
    if (this.#waiting.length > 0 || this.#opening) {
      this.#waiting.push({ refusal });
    } else this.#answer(refusal);
  }

  /** Takes a message for the client. */
  deliver(message: JSONRPCMessage): void {
    if ("method" in message || message.id === undefined) {
      this.#outgoing.push(message);
      return;
    }
    const { id } = message;
    this.#listens.delete(id); // it was refused
    this.#pending.delete(id);
    const turn = this.#turns.find((turn) => turn.id === id && !turn.answer);
    if (turn) turn.answer = message;
    else this.#outgoing.push(message);
    this.#endTurns();
    if (this.#opening?.id === id) {
      this.#opened(isJSONRPCResultResponse(message));
    }
  }

  /** Takes out the messages that may be passed on now. */
  *toSend(): Iterable<JSONRPCMessage> {
    while (!this.#opening) {
      const next = this.#waiting.shift();
      if (!next) return;
      if ("refusal" in next) this.#answer(next.refusal);
      else {
        const { message } = next;
        const opens = isJSONRPCRequest(message) && isInitializeRequest(message);
        if (opens) this.#opening = message;
        yield message;
      }
    }
  }

  /** Takes out the messages that may be written to the client now. */
  *toWrite(): Iterable<JSONRPCMessage> {
    for (;;) {
      const next = this.#outgoing.shift();
      if (!next) return;
      yield next;
    }
  }

  /** Remembers what the client opens and closes. */
  #remember(request: JSONRPCRequest): void {
    const { id, method, params: { uri } = {} } = request;
    if (isListen(request)) this.#listens.set(id, request);
    else this.#pending.add(id);
    if (typeof uri !== "string") return;
    if (method === "resources/subscribe") this.subscribed.add(uri);
    if (method === "resources/unsubscribe") this.subscribed.delete(uri);
  }

  /** Expects no answer any more. */
  #cancel(id: RequestId): void {
    this.#listens.delete(id);
    this.#pending.delete(id);
    this.#turns = this.#turns.filter((turn) => turn.id !== id || turn.answer);
    this.#endTurns();
  }

  /** Gives each waiting request, and each answer that waits with them, its turn. */
  #opened(isGood: boolean): void {
    if (isGood) this.#initialize = this.#opening;
    this.#opening = undefined;
    for (const waiting of this.#waiting.splice(0)) {
      if ("refusal" in waiting) this.#answer(waiting.refusal);
      else {
        this.#waiting.push(waiting);
        if (isJSONRPCRequest(waiting.message)) {
          this.#giveTurn(waiting.message.id);
        }
      }
    }
  }

  #giveTurn(id: RequestId): void {
    const hasOne = this.#turns.some((turn) => turn.id === id);
    if (!hasOne && this.#pending.has(id)) this.#turns.push({ id });
  }

  #answer(answer: JSONRPCMessage): void {
    this.#turns.push({ answer });
    this.#endTurns();
  }

  #endTurns(): void {
    for (let first = this.#turns[0]; first?.answer; first = this.#turns[0]) {
      this.#outgoing.push(first.answer);
      this.#turns.shift();
    }
  }
}
