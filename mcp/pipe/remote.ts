/**
 * Messages of a pipe to a Server over HTTP.
 *
 * Each request is remembered until its answer. A session that the Server has forgotten is opened
 * again as the client had opened it: it subscribes again, what had no answer fails, and the client
 * is notified that lists may have changed. Streams of changes (2026) are opened again whenever they
 * end.
 *
 * @module
 */
import {
  INVALID_REQUEST,
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { abortable, sleep, withTimeout } from "../../shared/async.ts";
import {
  type Backend,
  changesFor,
  changesOn,
  codeOf,
  explain,
  failureFor,
  isListen,
  isModern,
} from "./messages.ts";
import { mirroringFetch } from "./mirrored_headers.ts";
import type { Reach } from "./reach.ts";
import { cancelledBy } from "../office/request_ids.ts";

/** What {@linkcode Remote} needs. */
interface RemoteParts extends Reach {
  /** The resources that every session of the client subscribes to. */
  readonly subscribed: ReadonlySet<string>;
  /** Takes the messages of the server. */
  readonly deliver: (message: JSONRPCMessage) => void;
  /** Takes a line about a problem. */
  readonly log: (line: string) => void;
}

/** How long a request waits for a Server that is just being started again. */
const RESTART_TIMEOUT_MS = 5_000;
/** Milliseconds between two attempts to send a request. */
const RETRY_MS = 200;
/** Milliseconds between two attempts to begin a session for a client that sends nothing. */
const REOPEN_RETRY_MS = 5_000;
/** How long the end waits for a Server to end a session. */
const END_TIMEOUT_MS = 1_000;

/** A request without an answer. */
interface Pending {
  readonly message: JSONRPCRequest;
  /** Ends it. */
  readonly stop: AbortController;
  /** Where it was sent; absent until then. */
  link?: Link;
  /** Called when its stream has ended without an answer. */
  ended(): void;
}

/** Passes messages on to a server over HTTP, and reconnects by itself when that was away. */
export class Remote implements Backend {
  readonly #parts: RemoteParts;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #end = new AbortController();
  #link: Link;
  #initialize: JSONRPCRequest | undefined;
  #reopening: Promise<void> | undefined;

  /** Makes one that has sent nothing. */
  constructor(parts: RemoteParts) {
    this.#parts = parts;
    this.#link = this.#newLink();
  }

  /**
   * Continues what another backend has begun; the client is notified that lists may have changed.
   *
   * @param initialize of the client (2025), once it has been answered
   * @param listens its streams of changes (2026)
   * @throws {Error} the server cannot be used now
   */
  async takeOver(
    initialize: JSONRPCRequest | undefined,
    listens: readonly JSONRPCRequest[],
  ): Promise<void> {
    this.#initialize = initialize;
    if (initialize) await this.#reopen();
    for (const listen of listens) void this.#listen(listen, true);
  }

  /** Passes a message on. */
  send(message: JSONRPCMessage): void {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) return void this.#cancel(cancelled, message);
    if (!isJSONRPCRequest(message)) {
      return void this.#post(message).catch(this.#logError);
    }
    if (message.method === "initialize") this.#initialize = message;
    if (this.#initialize === undefined && !isModern(message)) {
      return this.#parts.deliver(answerOutside(message));
    }
    if (isListen(message)) void this.#listen(message, false);
    else void this.#ask(message);
  }

  /** Cancels all calls, and ends the session. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The pipe is closed"));
    for (const { stop } of this.#pending.values()) stop.abort();
    const link = this.#link;
    const end = () => link.terminateSession();
    await withTimeout(END_TIMEOUT_MS, end).catch(() => {
      // It has ended with its Server, or will in time.
    });
    await link.close();
  }

  /** @param begun takes the first answer, in place of the client */
  #newLink(begun?: (answer: JSONRPCMessage) => void): Link {
    const link: Link = openLink(this.#parts, () => {
      if (link === this.#link) void this.#reopenSoon();
    });
    link.onmessage = (message) => {
      const version = isJSONRPCResultResponse(message) &&
        message.result.protocolVersion;
      if (typeof version === "string") link.setProtocolVersion(version);
      if (!begun || "method" in message) return this.#deliver(message);
      begun(message);
      begun = undefined;
    };
    return link;
  }

  #deliver(message: JSONRPCMessage): void {
    if (!("method" in message) && message.id !== undefined) {
      const pending = this.#pending.get(message.id);
      if (pending === undefined) return; // its client has given it up
      // The answer of a server that ends; the stream begins again with its successor.
      const isPause = isListen(pending.message) &&
        isJSONRPCResultResponse(message);
      if (isPause) return pending.ended();
      this.#pending.delete(message.id);
    }
    this.#parts.deliver(message);
  }

  #fail({ message: { id } }: Pending, reason: string): void {
    this.#deliver(failureFor(id, reason));
  }

  /** Remembers a request for as long as it has no answer. */
  #track(message: JSONRPCRequest, ended: () => void): Pending {
    const pending = { message, stop: new AbortController(), ended };
    this.#pending.set(message.id, pending);
    return pending;
  }

  async #ask(message: JSONRPCRequest): Promise<void> {
    const pending = this.#track(message, () => this.#fail(pending, UNANSWERED));
    try {
      await this.#post(message, pending);
    } catch (error) {
      if (pending.stop.signal.aborted) return;
      this.#logError(error); // not every client shows the error of its first request
      this.#fail(pending, explain(this.#parts.url, error));
    }
  }

  /** Keeps a stream of changes open until its client ends it. */
  async #listen(message: JSONRPCRequest, isAgain: boolean): Promise<void> {
    let ended = Promise.withResolvers<void>();
    const pending = this.#track(message, () => ended.resolve());
    const signal = AbortSignal.any([pending.stop.signal, this.#end.signal]);
    const isOpen = () => this.#pending.get(message.id) === pending;
    for (let isNews = isAgain; isOpen(); isNews = true) {
      ended = Promise.withResolvers();
      try {
        await this.#post(message, pending);
        if (!isOpen()) return; // it was refused
        if (isNews) changesOn(message).forEach(this.#parts.deliver);
        await abortable(ended.promise, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!isNews) this.#fail(pending, explain(this.#parts.url, error));
      }
      await sleep(RETRY_MS, signal).catch(() => {});
      if (signal.aborted) return;
    }
  }

  /** Gives a request up: since 2026 by the end of its stream, before by a message. */
  async #cancel(id: RequestId, message: JSONRPCMessage): Promise<void> {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    if (!isModern(pending.message)) {
      await this.#post(message).catch(this.#logError);
    }
    pending.stop.abort(new Error("The client has cancelled it"));
  }

  /**
   * Sends a message, in a new session where the server has forgotten the old one.
   *
   * @throws {Error} it has not reached the server, or was refused
   */
  async #post(message: JSONRPCMessage, pending?: Pending): Promise<void> {
    // What is sent in a session that is being replaced would be cut with it.
    await this.#reopening?.catch(() => {});
    const link = this.#link;
    try {
      await this.#postOn(link, message, pending);
    } catch (error) {
      const isForgotten = error instanceof SdkHttpError &&
        error.status === 404 && link.sessionId !== undefined;
      if (!isForgotten) throw error;
      delete pending?.link;
      if (link === this.#link) await this.#reopen();
      await this.#postOn(this.#link, message, pending);
    }
  }

  async #postOn(
    link: Link,
    message: JSONRPCMessage,
    pending: Pending | undefined,
  ): Promise<void> {
    const until = performance.now() + RESTART_TIMEOUT_MS;
    const options = pending && {
      requestSignal: pending.stop.signal,
      onRequestStreamEnd: () => pending.ended(),
    };
    while (true) {
      if (pending) pending.link = link;
      try {
        return await link.send(message, options);
      } catch (error) {
        // Only this error is proof that no server has got the message.
        const isUnsent = codeOf(error) === "ECONNREFUSED";
        if (!isUnsent || performance.now() > until) throw error;
      }
      await sleep(RETRY_MS, this.#end.signal);
    }
  }

  /** Begins a session as the client did with the last one. */
  #reopen(): Promise<void> {
    return this.#reopening ??= this.#beginAgain().finally(() => {
      this.#reopening = undefined;
    });
  }

  async #beginAgain(): Promise<void> {
    const initialize = this.#initialize;
    if (initialize === undefined) return;
    const begun = Promise.withResolvers<JSONRPCMessage>();
    const old = this.#link;
    const next = this.#newLink(begun.resolve);
    const capabilities = await beginSession(next, initialize, begun)
      .catch(async (error) => {
        await next.close();
        throw error;
      });
    this.#link = next;
    await old.close();
    for (const uri of this.#parts.subscribed) {
      // As the client has done in another session; its answer is not needed.
      const id = crypto.randomUUID();
      const method = "resources/subscribe";
      next.send({ jsonrpc: "2.0", id, method, params: { uri } })
        .catch(this.#logError);
    }
    for (const pending of this.#pending.values()) {
      if (pending.link === old) this.#fail(pending, UNANSWERED);
    }
    changesFor(capabilities).forEach(this.#parts.deliver);
  }

  /** Begins a session for a client that waits for changes alone. */
  async #reopenSoon(): Promise<void> {
    const link = this.#link;
    while (link === this.#link && !this.#end.signal.aborted) {
      try {
        await this.#reopen();
      } catch (error) {
        this.#logError(error);
        await sleep(REOPEN_RETRY_MS, this.#end.signal).catch(() => {});
      }
    }
  }

  readonly #logError = (error: unknown): void => {
    if (this.#end.signal.aborted) return;
    this.#parts.log(explain(this.#parts.url, error));
  };
}

/** The answer to a request outside of a session, where MCP allows `ping` alone. */
const answerOutside = ({ id, method }: JSONRPCRequest): JSONRPCMessage =>
  method === "ping" ? { jsonrpc: "2.0", id, result: {} } : {
    jsonrpc: "2.0",
    id,
    error: {
      code: INVALID_REQUEST,
      message:
        `Cannot answer ${method} yet: send "initialize" first, or name a protocol version from 2026-07-28 on in "_meta"`,
    },
  };

const UNANSWERED = "The connection to the Server ended before the answer";

/** One session over HTTP; for MCP 2026 a transport alone, since that has no sessions. */
type Link = StreamableHTTPClientTransport;

/** How soon, and how often, the stream of changes of a session is opened again. */
const RECONNECTION = {
  initialReconnectionDelay: 200,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5_000,
  maxRetries: Infinity,
};

/** @param lost called when the server has forgotten the session */
function openLink({ url, fetch, headers }: Reach, lost: () => void): Link {
  const mirroring = mirroringFetch(fetch);
  const link = new StreamableHTTPClientTransport(url, {
    fetch: async (input, init) => {
      const response = await mirroring(input, init);
      // The stream of changes finds it out, too, and nothing else would notice.
      if (response.status === 404 && init?.method === "GET") lost();
      return response;
    },
    requestInit: { headers },
    reconnectionOptions: RECONNECTION,
  });
  void link.start();
  return link;
}

/**
 * Begins a session as the client did before, without its noticing.
 *
 * @returns the server's capabilities
 * @throws {Error} why there is no session
 */
async function beginSession(
  link: Link,
  initialize: JSONRPCRequest,
  { promise, resolve }: PromiseWithResolvers<JSONRPCMessage>,
): Promise<unknown> {
  const onRequestStreamEnd = () =>
    resolve(failureFor(initialize.id, "the connection ended"));
  await link.send(initialize, { onRequestStreamEnd });
  const answer = await promise;
  if (!isJSONRPCResultResponse(answer)) {
    throw new Error(
      isJSONRPCErrorResponse(answer) ? answer.error.message : "no answer",
    );
  }
  await link.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return answer.result.capabilities;
}
