import { abortable, sleep } from "../../shared/async.ts";
import type { Connection } from "../../client/connection.ts";
import { ConnectionError } from "../../client/errors.ts";
import { roomForBase64 } from "../../client/message_limits.ts";
import {
  type AgentCallData,
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallCancel,
  type ToolProgress,
} from "../../protocol/mod.ts";
import { Arrivals } from "./arrivals.ts";
import { Deadline } from "./deadline.ts";
import { Pacer, refusalOf } from "./pacer.ts";

/** How long a Server waits for a Computer where the request has no timeout (spec §7). */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Added to a timeout before this side fails: 5 s for the Server, 5 s for the network (spec §7). */
export const ANSWER_GRACE_MS = 10_000;

/** The options of {@linkcode Requests}. */
interface RequestsOptions {
  readonly name: string;
  readonly offline?: "fail" | "wait";
}

/** How one request is sent. */
interface Sending {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Default: a random one. */
  readonly reqId?: string | undefined;
}

/** Sends an Agent's requests with its name and a `req_id`, and validates the answers. */
export class Requests {
  readonly #connection: Connection;
  readonly #options: RequestsOptions;
  readonly #pacer = new Pacer();
  /** The receivers of the progress of calls, by `req_id`. */
  readonly #followed = new Map<string, Set<(told: ToolProgress) => unknown>>();
  /** Present only with `offline: "wait"`. */
  readonly #arrivals: Arrivals | undefined;

  constructor(
    connection: Connection,
    options: RequestsOptions,
  ) {
    this.#connection = connection;
    this.#options = options;
    connection.on("notification", ({ event, payload }) => {
      if (event !== TOOL_CALL_PROGRESS_NOTIFICATION) return;
      const followed = this.#followed.get(payload.req_id) ?? [];
      return Promise.all(
        [...followed].map(async (tell) => await tell(payload)),
      );
    });
    if (options.offline === "wait") this.#arrivals = new Arrivals(connection);
  }

  /** Sends a request that has no timeout of its own. */
  ask<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    signal: AbortSignal | undefined,
    reqId?: string,
  ): Promise<ClientEvents[E]["answer"]> {
    const timeoutMs = REQUEST_TIMEOUT_MS + ANSWER_GRACE_MS;
    return this.request(event, request, { timeoutMs, signal, reqId });
  }

  /**
   * Sends a request that fails with `timeout` after `timeoutMs`.
   *
   * @throws {ProtocolError} 400 that names each field that cannot be sent as it is
   */
  async request<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    { timeoutMs, signal, reqId }: Sending,
  ): Promise<ClientEvents[E]["answer"]> {
    const { parseRequest, parseAnswer } = CLIENT_EVENTS[event];
    const signed = this.#signed(request, reqId);
    parseRequest(signed); // a timer would treat an infinite timeout as 0
    return parseAnswer(await this.#send(event, signed, timeoutMs, signal));
  }

  /** Sends any event; neither the request nor the answer is checked. */
  send(
    event: string,
    request: object,
    { timeoutMs, signal, reqId }: Sending,
  ): Promise<unknown> {
    return this.#send(event, this.#signed(request, reqId), timeoutMs, signal);
  }

  /** The protocol version of the connection. */
  get protocol(): Connection["protocol"] {
    return this.#connection.protocol;
  }

  /** Returns how many bytes fit into a request as base64, with an empty string in their place. */
  roomForBase64(request: object): number {
    return roomForBase64(this.#signed(request), this.#connection.maxPayload);
  }

  /** Cancels a call; does nothing while offline. */
  cancel(reqId: string, reason?: ToolCallCancel["reason"]): void {
    const why = reason === undefined ? {} : { reason };
    this.#connection.send(CANCEL_TOOL_CALL_EVENT, this.#signed(why, reqId));
  }

  /** Receives the progress of a call that increases, and what it waits for; returns what ends it. */
  follow(
    reqId: string,
    listener: (progress: ToolProgress) => unknown,
  ): () => void {
    let last = -Infinity;
    const followed = (told: ToolProgress) => {
      const { progress, total, message, waiting } = told;
      if (waiting === undefined && progress <= last) return;
      if (waiting === undefined) last = progress;
      return listener({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
        ...(waiting !== undefined && { waiting }),
      });
    };
    const all = this.#followed.get(reqId) ?? new Set();
    this.#followed.set(reqId, all.add(followed));
    return () => {
      all.delete(followed);
      if (all.size === 0) this.#followed.delete(reqId);
    };
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
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const deadline = new Deadline(timeoutMs, signal);
    const { computer } = request;
    for (;;) {
      if (this.#arrivals) await this.#online(deadline, timeoutMs);
      const arrival = computer === undefined
        ? undefined
        : this.#arrivals?.expect(computer);
      try {
        return await this.#attempt(event, request, deadline, signal);
      } catch (error) {
        await this.#untilAgain(error, arrival?.entered, deadline);
      } finally {
        arrival?.forget();
      }
    }
  }

  async #attempt(
    event: string,
    request: object,
    deadline: Deadline,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const pacer = this.#pacer;
    if (!pacer.tryTurn()) {
      await deadline.wait(
        (signal) => pacer.turn(signal),
        () => pacer.last?.error,
      );
    }
    try {
      return await this.#connection.request(event, aged(request, deadline), {
        timeoutMs: deadline.leftMs,
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
    deadline: Deadline,
  ): Promise<void> {
    const refusal = refusalOf(error);
    if (refusal) {
      this.#pacer.learn(refusal);
      const { retryInMs } = refusal;
      await deadline.wait((signal) => sleep(retryInMs, signal), () => error);
    } else if (entered && this.#arrivals?.isExpected(error)) {
      await deadline.wait((signal) => abortable(entered, signal), () => error);
    } else {
      throw error;
    }
  }

  async #online(deadline: Deadline, timeoutMs: number): Promise<void> {
    if (this.#connection.isReady) return;
    await deadline.wait(
      (signal) => this.#connection.ready(signal),
      () =>
        new ConnectionError(
          "offline",
          `Not connected within ${timeoutMs / 1000} s`,
        ),
    );
  }
}

/** Reduces the timeout of a request to the time that is left, in whole seconds. */
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
