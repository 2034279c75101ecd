import type { Connection } from "../../client/connection.ts";
import { ConnectionError } from "../../client/errors.ts";
import {
  type AgentCallData,
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
} from "../../protocol/mod.ts";
import { orAbort } from "./abortable.ts";
import { Arrivals } from "./arrivals.ts";
import { Deadline } from "./deadline.ts";
import { Pacer, refusalOf } from "./pacer.ts";
import { sleep } from "./sleep.ts";

/** Seconds that a Server waits for a Computer where the request has no timeout (spec §7). */
export const REQUEST_TIMEOUT = 30;
/** Seconds that the Server adds, and as many for the way, before this side gives up (spec §7). */
export const GRACE = 10;

/** Whose requests, and what becomes of those that are made while offline. */
interface Sender {
  readonly name: string;
  readonly offline?: "fail" | "wait";
}

/** Signs an Agent's requests with its name and a `req_id`, sends them, and checks the answers. */
export class Requests {
  readonly #connection: Connection;
  readonly #options: Sender;
  readonly #pacer = new Pacer();
  /** Only where the caller chose to wait. */
  readonly #arrivals: Arrivals | undefined;

  constructor(
    connection: Connection,
    options: Sender,
  ) {
    this.#connection = connection;
    this.#options = options;
    if (options.offline === "wait") this.#arrivals = new Arrivals(connection);
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
   * @throws {ProtocolError} 400 that names each field that cannot be sent as it is
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
    request: AgentCallData & { computer?: string },
    seconds: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const clock = new Deadline(seconds * 1000, signal);
    const { computer } = request;
    for (;;) {
      if (this.#arrivals) await this.#online(clock, seconds);
      const arrival = computer === undefined
        ? undefined
        : this.#arrivals?.expect(computer);
      try {
        return await this.#attempt(event, request, clock, signal);
      } catch (error) {
        await this.#untilAgain(error, arrival?.entered, clock);
      } finally {
        arrival?.forget();
      }
    }
  }

  async #attempt(
    event: string,
    request: object,
    clock: Deadline,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const pacer = this.#pacer;
    if (!pacer.tryTurn()) {
      await clock.wait((signal) => pacer.turn(signal), () => pacer.last?.error);
    }
    try {
      return await this.#connection.request(event, aged(request, clock), {
        timeoutMs: clock.leftMs,
        signal,
      });
    } finally {
      pacer.done();
    }
  }

  /** @throws the error itself, unless the request did not run and is worth another attempt */
  async #untilAgain(
    error: unknown,
    entered: Promise<void> | undefined,
    clock: Deadline,
  ): Promise<void> {
    const refusal = refusalOf(error);
    if (refusal) {
      this.#pacer.learn(refusal);
      const { retryInMs } = refusal;
      await clock.wait((signal) => sleep(retryInMs, signal), () => error);
    } else if (entered && this.#arrivals?.isExpected(error)) {
      await clock.wait((signal) => orAbort(entered, signal), () => error);
    } else {
      throw error;
    }
  }

  async #online(clock: Deadline, seconds: number): Promise<void> {
    if (this.#connection.isReady) return;
    await clock.wait(
      (signal) => this.#connection.ready(signal),
      () => new ConnectionError("offline", `Not connected within ${seconds} s`),
    );
  }
}

/** The same request with the time that is left of it, in whole seconds. */
function aged<R extends object & { timeout?: unknown }>(
  request: R,
  { passedMs }: Deadline,
): R {
  const { timeout } = request;
  const passed = Math.floor(passedMs / 1000);
  return typeof timeout === "number" && passed > 0
    ? { ...request, timeout: Math.max(1, timeout - passed) }
    : request;
}
