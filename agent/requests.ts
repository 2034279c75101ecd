import type { Connection } from "../protocol/client/connection.ts";
import { ConnectionError } from "../protocol/client/errors.ts";
import {
  type AgentCallData,
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
} from "../protocol/mod.ts";
import type { SmcpAgentOptions } from "./options.ts";

/** Seconds that a Server waits for a Computer where the request has no timeout (spec §7). */
export const REQUEST_TIMEOUT = 30;
/** Seconds that the Server adds, and as many for the way, before this side gives up (spec §7). */
export const GRACE = 10;

/** Signs an Agent's requests with its name and a `req_id`, sends them, and checks the answers. */
export class Requests {
  readonly #connection: Connection;
  readonly #options: SmcpAgentOptions;

  constructor(connection: Connection, options: SmcpAgentOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** A request without a timeout of its own. */
  ask<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    signal: AbortSignal | undefined,
  ): Promise<ClientEvents[E]["answer"]> {
    return this.request(event, request, REQUEST_TIMEOUT + GRACE, signal);
  }

  /**
   * A request that fails with `timeout` after so many seconds.
   *
   * @throws {ProtocolError} 400 that names each field that can not be sent as it is
   */
  async request<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    seconds: number,
    signal: AbortSignal | undefined,
    reqId?: string,
  ): Promise<ClientEvents[E]["answer"]> {
    const { parseRequest, parseAnswer } = CLIENT_EVENTS[event];
    const signed = this.#signed(request, reqId);
    parseRequest(signed); // a timer would take `Infinity` for no time at all
    return parseAnswer(await this.#send(event, signed, seconds, signal));
  }

  /** The same for any event; neither the request nor the answer is checked. */
  send(
    event: string,
    request: object,
    seconds: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    return this.#send(event, this.#signed(request), seconds, signal);
  }

  /** Cancels a call; there is nothing to cancel while offline. */
  cancel(reqId: string): void {
    this.#connection.send(CANCEL_TOOL_CALL_EVENT, this.#signed({}, reqId));
  }

  #signed<R extends object>(
    request: R,
    reqId: string = crypto.randomUUID(),
  ): R & AgentCallData {
    return { ...request, agent: this.#options.name, req_id: reqId };
  }

  async #send(
    event: string,
    request: AgentCallData,
    seconds: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const until = Date.now() + seconds * 1000;
    if (this.#options.offline === "wait") await this.#online(seconds, signal);
    return await this.#connection.request(event, request, {
      timeoutMs: Math.max(1, until - Date.now()),
      signal,
    });
  }

  async #online(
    seconds: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(
      () =>
        late.abort(
          new ConnectionError("offline", `Not connected within ${seconds} s`),
        ),
      seconds * 1000,
    );
    try {
      await this.#connection.ready(
        signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
