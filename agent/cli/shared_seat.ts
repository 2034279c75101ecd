/**
 * The seat that a Server with MCP has taken, shared by a command.
 *
 * A command sends the requests of its Agent to `/mcp/OFFICE` (protocol/shared_seat.ts), so that neither
 * locks the other out: MCP clients may use the seat before it, and while it runs.
 *
 * @module
 */
import { PACKAGE_VERSION } from "../../cli/version.ts";
import { reasonOf } from "../../client/errors.ts";
import {
  isBesideMcp,
  mcpUrl,
  nodeFetch,
} from "../../client/network/node_fetch.ts";
import type { UrlOptions } from "../../client/options.ts";
import { proxyRoute } from "../../client/network/proxy.ts";
import { ErrorCode, type ErrorPayload } from "../../protocol/errors.ts";
import {
  CANCEL_TOOL_CALL_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
} from "../../protocol/events.ts";
import {
  SEAT_SHARED,
  SHARE_SEAT,
  SHARED_PROGRESS,
  SHARED_REQUEST,
  SHARED_SEAT_MCP,
} from "../../protocol/shared_seat.ts";
import { abortable, withTimeout } from "../../shared/async.ts";
import type {
  ClientEnd,
  InProcessConnection,
  ServerEnd,
} from "../../shared/in_process.ts";
import { LineDecoder } from "../../shared/line_decoder.ts";

/** How long a Server may take to share a seat, before the command takes it. */
const SHARE_TIMEOUT_MS = 10_000;
/** What a request has around its payload, in bytes. */
const ENVELOPE_BYTES = 4_096;
/** The most bytes of a message that is read. */
const MAX_LINE_BYTES = 128 * 2 ** 20;

/**
 * Shares the seat of an office with its MCP clients, where the Server serves them.
 *
 * @returns `undefined` where it does not, or refuses it for any reason: a command that takes the seat then gets
 * that from the Server
 * @throws the signal's reason
 */
export async function shareSeat(
  options: UrlOptions,
  office: string,
  signal: AbortSignal,
): Promise<InProcessConnection | undefined> {
  if (!isBesideMcp(options)) return undefined;
  const held = new AbortController();
  const post = poster(options, office, held.signal);
  const messages = post(SHARE_SEAT, {}, held.signal);
  let isShared = false;
  try {
    const { value } = await withTimeout(
      SHARE_TIMEOUT_MS,
      () => abortable(messages.next(), signal),
    );
    isShared = value?.method === SEAT_SHARED;
    if (isShared) {
      const { max_payload } = Object(value?.params);
      const maxPayload = Number(max_payload) - ENVELOPE_BYTES;
      return {
        protocol: "0.4",
        url: options.url,
        maxPayload,
        open: (_, end) => new SharedEnd(post, { messages, held, end }),
      };
    }
    await messages.return();
  } catch {
    signal.throwIfAborted();
  } finally {
    if (!isShared) held.abort();
  }
  return undefined;
}

/** A message of JSON-RPC. */
interface Message {
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Sends a request, and gives the messages of its answer. */
type Post = (
  method: string,
  params: object,
  signal: AbortSignal,
) => AsyncGenerator<Message, void, void>;

/** A refusal of a request, which did not run. */
class RefusedError extends Error {
  override readonly name = "RefusedError";
  /** The refusal as a Server answers it to an Agent. */
  readonly answer: ErrorPayload;

  constructor(answer: ErrorPayload) {
    super(answer.message);
    this.answer = answer;
  }
}

/** @param ended closes the connections that are kept for further requests */
function poster(
  options: UrlOptions,
  office: string,
  ended: AbortSignal,
): Post {
  const url = mcpUrl(options, office);
  const fetch = nodeFetch(options.tls, proxyRoute(options), ended);
  return async function* (method, params, signal) {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": SHARED_SEAT_MCP,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": {
        name: "smcp-agent",
        version: PACKAGE_VERSION,
      },
    };
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...options.headers,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": SHARED_SEAT_MCP,
        "mcp-method": method,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { ...params, _meta },
      }),
      signal,
    });
    const { status, headers, body } = response;
    const type = headers.get("content-type") ?? "";
    if (status !== 200 || !body || !type.startsWith("text/event-stream")) {
      throw new RefusedError(await refusalIn(response));
    }
    yield* messagesIn(body);
  };
}

/** Returns the refusal in a response, in the form in which a Server answers it to an Agent. */
async function refusalIn(response: Response): Promise<ErrorPayload> {
  const { status, headers } = response;
  const message = messageIn(await response.text()) ?? `HTTP status ${status}`;
  if (status === TOO_LARGE) return { code: ErrorCode.BAD_REQUEST, message };
  if (status !== ErrorCode.TOO_MANY_REQUESTS) return { code: status, message };
  const retry_in_ms = Number(headers.get("retry-after")) * 1000;
  return { code: status, message, details: { ran: false, retry_in_ms } };
}

/** Returns the message of an error of JSON-RPC. */
function messageIn(body: string): string | undefined {
  try {
    const { error } = Object(JSON.parse(body));
    const { message } = Object(error);
    return typeof message === "string" ? message : undefined;
  } catch {
    return undefined; // it is of another program
  }
}

/** Reads a stream of events, each of one line. */
async function* messagesIn(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Message, void, void> {
  const lines = new LineDecoder(
    { encoding: "utf-8", encoding_error_handler: "replace" },
    MAX_LINE_BYTES,
  );
  for await (const chunk of body) {
    for (const line of lines.push(chunk)) {
      if (!("text" in line)) throw new Error("The answer is too large");
      if (line.text.startsWith("data:")) yield JSON.parse(line.text.slice(5));
    }
  }
}

/** The connection of a command's Agent with the Server, while it shares a seat. */
class SharedEnd implements ServerEnd {
  readonly id = "shared";
  readonly #post: Post;
  readonly #end: ClientEnd;
  readonly #held: AbortController;
  /** By `req_id`. */
  readonly #pending = new Map<unknown, AbortController>();

  constructor(post: Post, { messages, held, end }: {
    readonly messages: AsyncGenerator<Message, void, void>;
    readonly held: AbortController;
    readonly end: ClientEnd;
  }) {
    this.#post = post;
    this.#end = end;
    this.#held = held;
    void this.#hold(messages);
  }

  send(
    event: string,
    payload: unknown,
    answered?: (args: readonly unknown[]) => void,
  ): void {
    const fields: Readonly<Record<string, unknown>> = Object(payload);
    if (event === JOIN_OFFICE_EVENT || event === LEAVE_OFFICE_EVENT) {
      queueMicrotask(() => answered?.([true, null]));
    } else if (event === CANCEL_TOOL_CALL_EVENT) {
      this.#pending.get(fields.req_id)?.abort();
    } else void this.#ask(event, fields, answered);
  }

  close(): Promise<void> {
    this.#held.abort();
    for (const stop of this.#pending.values()) stop.abort();
    return Promise.resolve();
  }

  async #hold(messages: AsyncGenerator<Message, void, void>): Promise<void> {
    try {
      while (!(await messages.next()).done);
      this.#lost("the Server ended the connection");
    } catch (error) {
      this.#lost(reasonOf(error));
    }
  }

  async #ask(
    event: string,
    payload: Readonly<Record<string, unknown>>,
    answered: (args: readonly unknown[]) => void = () => {},
  ): Promise<void> {
    const { req_id } = payload;
    const stop = new AbortController();
    this.#pending.set(req_id, stop);
    try {
      const params = { event, payload };
      const messages = this.#post(SHARED_REQUEST, params, stop.signal);
      for await (const { method, params, result, error } of messages) {
        if (method === SHARED_PROGRESS) this.#report(payload, Object(params));
        else if (result !== undefined) return answered([Object(result).answer]);
        else if (error !== undefined) {
          const { message } = Object(error);
          throw new RefusedError({
            code: UNAVAILABLE,
            message: String(message),
          });
        }
      }
      this.#lost("the connection ended before the answer");
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof RefusedError)) return this.#lost(reasonOf(error));
      answered([error.answer]);
    } finally {
      this.#pending.delete(req_id);
    }
  }

  #report(
    { agent, computer, req_id }: Readonly<Record<string, unknown>>,
    progress: object,
  ): void {
    const payload = { ...progress, agent, computer, req_id };
    this.#end.receive(TOOL_CALL_PROGRESS_NOTIFICATION, payload);
  }

  #lost(reason: string): void {
    if (this.#held.signal.aborted) return;
    void this.close();
    this.#end.closed(reason, true);
  }
}

/** Statuses of HTTP. */
const TOO_LARGE = 413;
const UNAVAILABLE = 503;
