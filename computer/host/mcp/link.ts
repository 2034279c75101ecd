/**
 * The requests to an MCP server, and the loss of its connection, which pings find out where the transport
 * does not.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/types"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { onAbort, withTimeout } from "../../../shared/async.ts";
import { AuthorizationError } from "../oauth/authorized_fetch.ts";
import { ServerEndedError, SessionForgottenError } from "./errors.ts";
import { anyResult, type Handshake, type Peer } from "./handshake.ts";
import type {
  ClientConnectionOptions,
  McpRequestOptions,
} from "./mcp_connection.ts";

/** Time for a server to end its session. */
const TERMINATION_TIMEOUT_MS = 1_000;

/** Time for the other requests of a session that the server forgot. */
const RESPONSES_TIMEOUT_MS = 1_000;

/** Options of a request, with its timeout. */
interface TimedOptions extends McpRequestOptions {
  readonly timeout: number;
}

/** The requests of a connection. */
export class Link {
  /** Called when the connection is lost, but not for `close`. */
  onLost: (reason: Error) => void = () => {};
  readonly #peer: Peer;
  readonly #handshake: Handshake;
  readonly #options: ClientConnectionOptions;
  #ending = false;
  #running = 0;
  #pinging = false;
  /** The request that shows whether the session still exists, while it is pending. */
  #probe: Promise<unknown> | undefined;
  /** Why it is lost, where that is known before. */
  #loss: Error | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    peer: Peer,
    handshake: Handshake,
    options: ClientConnectionOptions,
  ) {
    this.#peer = peer;
    this.#handshake = handshake;
    this.#options = options;
    peer.onclose = () => this.#lost();
    if (options.pingEveryMs !== undefined) {
      peer.onerror = () => this.#ping();
      this.#timer = setInterval(() => this.#ping(), options.pingEveryMs);
    }
  }

  /** Whether it was closed or lost. */
  get hasEnded(): boolean {
    return this.#ending;
  }

  /**
   * Sends a request; after a timeout, checks with a ping whether the server hangs.
   *
   * The ping waits until no other request runs: a server that does one thing at a time answers no
   * ping while it works, and must not be restarted for that.
   */
  async request(
    method: string,
    params: Record<string, unknown>,
    { signal, timeout = this.#options.requestMs }: Partial<TimedOptions> = {},
  ): Promise<Record<string, unknown>> {
    this.#running++;
    let unanswered = false;
    try {
      return await this.send(method, params, { signal, timeout });
    } catch (error) {
      unanswered = hasCode(error, ErrorCode.RequestTimeout);
      this.#options.redact?.(error);
      if (!(error instanceof SessionForgottenError)) throw error;
      if (!await this.#isForgotten()) throw error.answer;
      await this.#forget();
      throw error;
    } finally {
      this.#running--;
      if (unanswered && this.#running === 0) this.#ping();
    }
  }

  /** Sends a request as the server's revision of MCP has it. */
  async send(
    method: string,
    params: Record<string, unknown>,
    { signal, timeout }: TimedOptions,
  ): Promise<Record<string, unknown>> {
    const { envelope } = this.#handshake;
    const request = envelope
      ? { ...params, _meta: { ...Object(params._meta), ...envelope } }
      : params;
    const { calls } = this.#peer;
    if (method === "tools/call" && calls) {
      return await calls.send(request, signal);
    }
    // The SDK would cancel every request that had the signal, also those with an answer.
    const own = new AbortController();
    const off = onAbort(signal, () => own.abort(signal?.reason));
    try {
      return await this.#peer.request(
        { method, params: request },
        anyResult,
        { timeout, signal: own.signal },
      );
    } finally {
      off();
    }
  }

  /** Ends the session, and the connection; never throws. */
  async close(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    clearInterval(this.#timer);
    const { terminate } = this.#options;
    // The session on the server; the connection closes anyway.
    if (terminate) {
      await withTimeout(TERMINATION_TIMEOUT_MS, terminate).catch(() => {});
    }
    await this.#peer.close().catch(() => {});
  }

  /** Closes once the other requests of the forgotten session are answered, too: else they would seem lost. */
  async #forget(): Promise<void> {
    this.#loss = new ServerEndedError("The MCP server forgot the session");
    const { responded = () => Promise.resolve() } = this.#options;
    await withTimeout(RESPONSES_TIMEOUT_MS, responded).catch(() => {});
    await this.#peer.close().catch(() => {});
  }

  /** Finds out with another request whether the session is forgotten: some answer 404 to one request alone. */
  async #isForgotten(): Promise<boolean> {
    const list = this.#list;
    if (this.#loss !== undefined || list === undefined) return true;
    const timeout = this.#options.requestMs;
    this.#probe ??= this.send(`${list}/list`, {}, { timeout });
    try {
      await this.#probe;
      return false;
    } catch (error) {
      return error instanceof SessionForgottenError || this.#ending;
    } finally {
      this.#probe = undefined;
    }
  }

  /** A list that the server has. */
  get #list(): string | undefined {
    const { capabilities } = this.#handshake;
    const lists = ["tools", "resources", "prompts"] as const;
    return lists.find((list) => capabilities[list]);
  }

  /** Ends the connection if the server is silent, and does not work on a request: any answer is a sign of life. */
  async #ping(): Promise<void> {
    if (this.#pinging || this.#ending) return;
    this.#pinging = true;
    const { pongMs, requestMs, answers = () => 0 } = this.#options;
    const before = answers();
    try {
      const method = this.#handshake.envelope ? "server/discover" : "ping";
      await this.send(method, {}, { timeout: pongMs ?? requestMs });
    } catch (error) {
      if (this.#ending) return;
      const isRefused = error instanceof SessionForgottenError ||
        error instanceof AuthorizationError;
      if (isRefused) return await this.#confirm();
      const isSilent = hasCode(error, ErrorCode.RequestTimeout);
      const hasAnswered = answers() > before ||
        error instanceof McpError && !isSilent &&
          !hasCode(error, ErrorCode.ConnectionClosed);
      const isBusy = isSilent && this.#running > 0;
      if (hasAnswered || isBusy) return;
      await this.#peer.close().catch(() => {});
    } finally {
      this.#pinging = false;
    }
  }

  /** Ends the connection if another request is refused as a ping was, which some servers do not support. */
  async #confirm(): Promise<void> {
    const list = this.#list;
    if (list === undefined) return;
    try {
      await this.request(`${list}/list`, {});
    } catch (error) {
      // With `granted`, only this request lacks a right, which the user is being asked for.
      const isDenied = error instanceof AuthorizationError && !error.granted;
      if (!isDenied) return;
      this.#loss = error;
      await this.#peer.close().catch(() => {});
    }
  }

  #lost(): void {
    clearInterval(this.#timer);
    this.#peer.calls?.end();
    if (this.#ending) return;
    this.#ending = true;
    const { explainLoss, redact } = this.#options;
    const how = explainLoss?.() ?? "no longer answers";
    const reason = this.#loss ?? new ServerEndedError(`The MCP server ${how}`);
    redact?.(reason);
    this.onLost(reason);
  }
}

const hasCode = (error: unknown, code: ErrorCode): boolean =>
  error instanceof McpError && error.code === code;
