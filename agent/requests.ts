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

  /** A request that fails with `timeout` after so many seconds. */
  async request<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    seconds: number,
    signal: AbortSignal | undefined,
    reqId?: string,
  ): Promise<ClientEvents[E]["answer"]> {
    const answer = await this.send(event, request, seconds, signal, reqId);
    return CLIENT_EVENTS[event].parseAnswer(answer);
  }

  /** The same for any event; the answer is not checked yet. */
  async send(
    event: string,
    request: object,
    seconds: number,
    signal: AbortSignal | undefined,
    reqId: string = crypto.randomUUID(),
  ): Promise<unknown> {
    const until = Date.now() + seconds * 1000;
    if (this.#options.offline === "wait") await this.#online(seconds, signal);
    return await this.#connection.request(
      event,
      { ...request, agent: this.#options.name, req_id: reqId },
      { timeoutMs: Math.max(1, until - Date.now()), signal },
    );
  }

  /** Cancels a call; there is nothing to cancel while offline. */
  cancel(reqId: string): void {
    const call: AgentCallData = { agent: this.#options.name, req_id: reqId };
    this.#connection.send(CANCEL_TOOL_CALL_EVENT, call);
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
