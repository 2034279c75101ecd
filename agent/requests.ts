/**
 * How an Agent's request is sent, and sent again.
 *
 * {@linkcode Requests.ask} signs it with name and `req_id`, checks it, and parses the answer. Before it is
 * sent it may wait for the connection (`offline: "wait"`) and for its turn, since the Server's limits
 * apply to all requests of an Agent together. A request that did not run, because of a 429 or since its
 * Computer has not reconnected yet, is sent again. One deadline covers all of that.
 *
 * @module
 */
import { LONG_MEMBERS, parseLong } from "./parse_answer.ts";
import type { Connection } from "../client/connection.ts";
import { ConnectionError } from "../client/errors.ts";
import { roomForBase64 } from "../client/message_limits.ts";
import type { RequestOptions } from "../client/options.ts";
import {
  type AgentCallData,
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  LEAVE_OFFICE_NOTIFICATION,
  ProtocolError,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallCancel,
  type ToolProgress,
} from "../protocol/mod.ts";
import { abortable, RateQueue, sleep, withDeadline } from "../shared/async.ts";
import { checkNumbers, present } from "../shared/checks.ts";
import { type Placed, SwapList } from "../shared/swap_list.ts";

/** How long a Server waits for a Computer where the request has no timeout (protocol §7). */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Added to a timeout before this side fails: 5 s for the Server, 5 s for the network (protocol §7). */
export const ANSWER_GRACE_MS = 10_000;

/** By Agent. */
const ofAgents = new WeakMap<object, Requests>();

/** Remembers the requests of an Agent. */
export const keepRequests = (agent: object, requests: Requests): void =>
  void ofAgents.set(agent, requests);

/** Returns the requests of an Agent, for what lends its seat. */
export function requestsOf(agent: object): Requests {
  const requests = ofAgents.get(agent);
  if (requests !== undefined) return requests;
  throw new TypeError("Cannot send its requests: this is no SmcpAgent");
}

/** How one request is sent. */
interface Sending {
  /** Milliseconds until it fails with `timeout`; includes all waiting before it is sent. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: a random one. */
  readonly reqId?: string | undefined;
  /** As in {@linkcode RequestOptions}. */
  readonly onSent?: RequestOptions["onSent"];
}

type Listener = (progress: ToolProgress) => unknown;

/** Sends an Agent's requests with its name and a `req_id`, and validates the answers. */
export class Requests {
  readonly #connection: Connection;
  readonly #name: string;
  /** Sends all requests immediately, until the Server refuses one and names a limit. */
  #queue = new RateQueue();
  /** The latest refusal, because of which requests wait. */
  #refusal: ProtocolError | undefined;
  /** The receivers of the progress of calls. */
  readonly #followed = new SwapList<
    Placed & { readonly reqId: string; readonly listener: Listener }
  >();
  /** What also cancels calls that are sent again under another `req_id`, and the first one. */
  readonly #repeated = new Map<() => void, string>();
  /** Present only with `offline: "wait"`. */
  readonly #arrivals: Arrivals | undefined;

  constructor(
    connection: Connection,
    { name, offline = "fail" }: { name: string; offline?: "fail" | "wait" },
  ) {
    if (offline !== "fail" && offline !== "wait") {
      throw new TypeError(
        'Cannot use the option offline: expected "fail" or "wait"',
      );
    }
    this.#connection = connection;
    this.#name = name;
    connection.on("notification", ({ event, payload }) => {
      if (event !== TOOL_CALL_PROGRESS_NOTIFICATION) return;
      const followed = this.#followed.items.filter((each) =>
        each.reqId === payload.req_id
      );
      return Promise.all(
        followed.map(async ({ listener }) => await listener(payload)),
      );
    });
    // The Server of another connection may have other limits.
    connection.on("connected", () => {
      this.#queue = new RateQueue();
    });
    if (offline === "wait") this.#arrivals = new Arrivals(connection);
  }

  /**
   * Sends a request and parses its answer.
   *
   * @throws {ProtocolError} 400 that names each field that cannot be sent as it is
   */
  async ask<E extends ClientEvent>(
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData>,
    sending: Sending = {},
  ): Promise<ClientEvents[E]["answer"]> {
    const { parseRequest, parseAnswer } = CLIENT_EVENTS[event];
    const signed = this.#signed(request, sending.reqId);
    parseRequest(signed); // a timer would treat an infinite timeout as 0
    const answer = await this.#send(event, signed, sending);
    return event in LONG_MEMBERS
      ? await parseLong(event, answer)
      : parseAnswer(answer);
  }

  /** Sends any event; neither the request nor the answer is checked. */
  send(event: string, request: object, sending: Sending): Promise<unknown> {
    return this.#send(event, this.#signed(request, sending.reqId), sending);
  }

  /** The protocol version of the connection. */
  get protocol(): Connection["protocol"] {
    return this.#connection.protocol;
  }

  /** Returns how many bytes fit into a request as base64, with an empty string in their place. */
  roomForBase64(request: object): number {
    return roomForBase64(this.#signed(request), this.#connection.maxPayload);
  }

  /** Cancels a call, whatever its `req_id` is by now; does nothing while offline. */
  cancel(reqId: string, reason?: ToolCallCancel["reason"]): void {
    this.#repeated.forEach((id, cancel) => id === reqId && cancel());
    const why = reason === undefined ? {} : { reason };
    this.#connection.send(CANCEL_TOOL_CALL_EVENT, this.#signed(why, reqId));
  }

  /** Lets `cancel` do more for a call; returns the function that ends it. */
  onCancel(reqId: string, cancel: () => void): () => void {
    this.#repeated.set(cancel, reqId);
    return () => this.#repeated.delete(cancel);
  }

  /** Receives the increasing progress of a call, and what it waits for; returns the function that ends it. */
  follow(reqId: string, listener: Listener): () => void {
    let last = -Infinity;
    const increasing: Listener = ({ progress, total, message, waiting }) => {
      if (waiting === undefined) {
        if (progress <= last) return;
        last = progress;
      }
      return listener(present({ progress, total, message, waiting }));
    };
    const followed = { reqId, listener: increasing };
    this.#followed.add(followed);
    return () => void this.#followed.remove(followed);
  }

  #signed<R extends object>(
    request: R,
    reqId: string = crypto.randomUUID(),
  ): R & AgentCallData {
    return { ...request, agent: this.#name, req_id: reqId };
  }

  /** Sends a request, and again while it did not run and another attempt may succeed in time. */
  async #send(
    event: string,
    request: AgentCallData & { computer?: string },
    sending: Sending,
  ): Promise<unknown> {
    const { timeoutMs = REQUEST_TIMEOUT_MS + ANSWER_GRACE_MS } = sending;
    const { signal, onSent } = sending;
    const connection = this.#connection;
    const arrivals = this.#arrivals;
    const deadline = { timeoutMs, began: performance.now(), signal };
    for (;;) {
      if (arrivals && !connection.isReady) await this.#connected(deadline);
      const { computer } = request;
      const arrival = computer === undefined
        ? undefined
        : arrivals?.expect(computer);
      const queue = this.#queue;
      try {
        if (!queue.tryBegin()) await this.#turn(queue, deadline);
        try {
          return await connection.request(
            event,
            aged(request, deadline.began),
            {
              timeoutMs: leftMs(deadline),
              signal,
              onSent,
            },
          );
        } finally {
          queue.end();
        }
      } catch (error) {
        await this.#retryable(error, arrival, deadline);
      } finally {
        arrival?.forget();
      }
    }
  }

  /** Waits for the connection. */
  async #connected(deadline: Deadline): Promise<void> {
    const why = `Not connected within ${deadline.timeoutMs / 1000} s`;
    await waitFor(
      deadline,
      (signal) => this.#connection.ready(signal),
      () => new ConnectionError("offline", why),
    );
  }

  /** Waits for the turn of a request. */
  async #turn(queue: RateQueue, deadline: Deadline): Promise<void> {
    await waitFor(
      deadline,
      (signal) => queue.begin(signal),
      () => this.#refusal,
    );
  }

  /**
   * Waits until a request that has failed can be sent again.
   *
   * @throws its error, where it cannot
   */
  async #retryable(
    error: unknown,
    arrival: Arrival | undefined,
    deadline: Deadline,
  ): Promise<void> {
    if (isRefusal(error)) {
      const retryInMs = this.#slowDown(error);
      await waitFor(
        deadline,
        (signal) => sleep(retryInMs, signal),
        () => error,
      );
    } else if (arrival?.isExpected(error)) {
      const { entered } = arrival;
      await waitFor(
        deadline,
        (signal) => abortable(entered, signal),
        () => error,
      );
    } else throw error;
  }

  /** Keeps later requests below the limit of a refusal; returns the milliseconds until another attempt. */
  #slowDown(refusal: ProtocolError): number {
    this.#refusal = refusal;
    const { details: { retry_in_ms } = {}, fields: { limit, max } } = refusal;
    const retryInMs = isPositive(retry_in_ms) ? retry_in_ms : DEFAULT_RETRY_MS;
    if (limit === "events_per_second" && isPositive(max)) {
      this.#queue.limitRate(max * RATE_SHARE, retryInMs);
    } else if (limit === "calls_per_agent" && isPositive(max)) {
      this.#queue.limitAtOnce(max);
    }
    return retryInMs;
  }
}

/** The time that a request has, with all waiting. */
interface Deadline {
  readonly timeoutMs: number;
  readonly began: number;
  /** Ends it early. */
  readonly signal: AbortSignal | undefined;
}

/** Returns the milliseconds that are left, at least 1. */
const leftMs = ({ timeoutMs, began }: Deadline): number =>
  Math.max(1, timeoutMs - (performance.now() - began));

/**
 * Waits for something, in the time that is left.
 *
 * @param late makes the error at the deadline
 */
const waitFor = (
  deadline: Deadline,
  work: (signal: AbortSignal) => Promise<void>,
  late: () => unknown,
): Promise<void> =>
  withDeadline(leftMs(deadline), work, {
    signal: deadline.signal,
    error: late,
  });

/** Reduces the timeout of a request to the time that is left, in whole seconds. */
function aged<R extends object & { timeout?: unknown }>(
  request: R,
  began: number,
): R {
  const { timeout } = request;
  const passed = Math.floor((performance.now() - began) / 1000);
  return typeof timeout === "number" && passed > 0
    ? { ...request, timeout: Math.max(1, timeout - passed) }
    : request;
}

const MAX_TIMEOUT_MS = 3_600_000;

/**
 * Writes the time of a request as the wire does: in whole seconds, rounded up (protocol §4).
 *
 * @param name of its option
 * @param least 0 where that is allowed
 * @throws {TypeError} when it is no number
 * @throws {ProtocolError} 400 that names the option, when the time is not above 0, or too long
 */
export function wireTimeout(
  ms: number,
  name = "timeoutMs",
  least?: 0,
): number {
  if (typeof ms !== "number") checkNumbers({ [name]: ms });
  if (ms <= MAX_TIMEOUT_MS && (ms > 0 || ms === least)) {
    return Math.ceil(ms / 1000);
  }
  throw new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Invalid ${name}: expected ${
      least ?? "more than 0"
    }, at most ${MAX_TIMEOUT_MS}, got ${ms}`,
  );
}

/** After a reconnect of the Agent, or its own end, a Computer may reconnect for this long. */
const RETURN_WINDOW_MS = 60_000;

/** How many Computers that have left are remembered. */
const MAX_LEFT = 1_000;

/** A Computer that a request may wait for. */
interface Arrival {
  /** Resolves when another attempt makes sense: the Computer entered, or the Agent rejoined or was closed. */
  readonly entered: Promise<void>;
  /** Whether a request failed only because the Computer has not reconnected yet. */
  isExpected(error: unknown): boolean;
  /** Stops watching. */
  forget(): void;
}

/**
 * Waits for Computers that have not reconnected yet: after a restart of the Server all clients
 * reconnect at different times, and the Agent may be the first (protocol §9); and for those that have just
 * left, as they do when they are restarted.
 */
class Arrivals {
  readonly #waiting = new Set<(computer: string | undefined) => void>();
  /** When Computers have left; the first of them first. */
  readonly #leftAt = new Map<string, number>();
  #backAt = -Infinity;

  constructor(connection: Connection) {
    connection.on("notification", ({ event, payload }) => {
      if (event === ENTER_OFFICE_NOTIFICATION) this.#wake(payload.computer);
      else if (event === LEAVE_OFFICE_NOTIFICATION) {
        this.#left(payload.computer);
      }
    });
    connection.on("joined", ({ rejoined }) => {
      if (rejoined) this.#backAt = performance.now();
      this.#leftAt.clear(); // they were of the office before
      this.#wake(undefined);
    });
    connection.on("disconnected", ({ reconnecting }) => {
      if (!reconnecting) this.#wake(undefined);
    });
  }

  #isExpected(error: unknown, computer: string): boolean {
    const since = Math.max(
      this.#backAt,
      this.#leftAt.get(computer) ?? -Infinity,
    );
    return isComputerNotFound(error) && error instanceof ProtocolError &&
      !("mcp_server" in error.fields) && !("reason" in error.fields) &&
      performance.now() - since < RETURN_WINDOW_MS;
  }

  #left(computer: string | undefined): void {
    if (computer === undefined) return; // an Agent
    this.#leftAt.delete(computer); // keeps the map in the order of time
    this.#leftAt.set(computer, performance.now());
    const [oldest] = this.#leftAt.keys();
    if (this.#leftAt.size > MAX_LEFT && oldest !== undefined) {
      this.#leftAt.delete(oldest);
    }
  }

  /**
   * Watches for a Computer; must be called before the request is sent, so that its arrival is not
   * missed.
   */
  expect(computer: string): Arrival {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (name: string | undefined) => {
      if (name === undefined || name === computer) resolve();
    };
    this.#waiting.add(wake);
    return {
      entered: promise,
      isExpected: (error) => this.#isExpected(error, computer),
      forget: () => this.#waiting.delete(wake),
    };
  }

  #wake(computer: string | undefined): void {
    for (const wake of [...this.#waiting]) wake(computer);
  }
}

/** Checks whether a request failed because its Computer is not, or no longer, in the office. */
export const isComputerNotFound = (error: unknown): boolean =>
  error instanceof ProtocolError && error.code === ErrorCode.NOT_FOUND;

/** Share of the Server's rate to use: cancellations count too, and clocks differ. */
const RATE_SHARE = 0.9;
/** Delay before another attempt if a refusal names none. */
const DEFAULT_RETRY_MS = 100;

/** Checks whether a request was refused that did not run, and can be sent again (protocol §10). */
const isRefusal = (error: unknown): error is ProtocolError =>
  error instanceof ProtocolError &&
  error.code === ErrorCode.TOO_MANY_REQUESTS && error.details?.ran === false;

const isPositive = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
