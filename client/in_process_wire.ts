import { ErrorCode, ProtocolError } from "../protocol/errors.ts";
import type {
  ClientEnd,
  InProcessClient,
  InProcessConnection,
  ServerEnd,
} from "../shared/in_process.ts";
import {
  type Acked,
  type Refusal,
  Retry,
  type Wire,
  type WireListeners,
} from "./wire.ts";
import { reasonOf } from "./errors.ts";

/** A connection to a Server in this process. It opens at once; a refusal is final, since the Server is gone. */
export class InProcessWire implements Wire {
  readonly isRetrying = false;
  readonly #connection: InProcessConnection;
  readonly #client: InProcessClient;
  readonly #listeners: WireListeners;
  readonly #retry = new Retry();
  #end: ServerEnd | undefined;
  #isClosed = false;
  #closed: Promise<void> = Promise.resolve();

  constructor(
    connection: InProcessConnection,
    client: InProcessClient,
    listeners: WireListeners,
  ) {
    this.#connection = connection;
    this.#client = client;
    this.#listeners = listeners;
  }

  get isOpen(): boolean {
    return this.#end !== undefined;
  }

  connect(): void {
    queueMicrotask(() => this.#open());
  }

  send(event: string, payload: object, acked?: Acked): void {
    this.#end?.send(event, payload, acked && ((args) => acked(...args)));
  }

  explain(cause: unknown): Promise<Refusal> {
    const known = cause instanceof ProtocolError
      ? cause
      : new ProtocolError(ErrorCode.INTERNAL_ERROR, reasonOf(cause));
    const failure = () => Promise.resolve(known);
    return Promise.resolve({ known, isFinal: true, failure });
  }

  stopRetrying(): void {}

  pause(): void {
    this.#retry.reset();
    const end = this.#end;
    this.#end = undefined;
    if (end) this.#closed = end.close();
  }

  close(): void {
    this.#isClosed = true;
    this.pause();
  }

  whenClosed(): Promise<void> {
    return this.#closed;
  }

  #open(): void {
    if (this.#isClosed || this.#end) return;
    const isCurrent = () => this.#end === end;
    const own: ClientEnd = {
      receive: (event, payload, answer) => {
        if (!isCurrent()) return;
        const args = answer ? [payload, answer] : [payload];
        this.#listeners.receive(event, args, isCurrent);
      },
      closed: (reason, isFinal) => {
        if (!isCurrent()) return;
        this.#end = undefined;
        this.#listeners.disconnected(reason, !isFinal);
        if (!isFinal && !this.#isClosed) this.#retry.later(() => this.#open());
      },
    };
    let end: ServerEnd;
    try {
      end = this.#connection.open(this.#client, own);
    } catch (error) {
      return this.#listeners.refused(error);
    }
    this.#end = end;
    this.#retry.reset();
    this.#listeners.limited(this.#connection.maxPayload);
    this.#listeners.connected();
  }
}
