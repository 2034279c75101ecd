/**
 * From a `Request` of a platform to a `Response`: the same gate and app as behind `node:http`, for which
 * a request and its end get the shape of those of `node:http`. {@linkcode Adapter} is what is needed of a
 * platform.
 *
 * @module
 */
import type { Hono } from "hono";
import { ErrorCode } from "../../protocol/mod.ts";
import { admitUpgrade, type RequestParts } from "../http/gate.ts";
import { isLoopback } from "../../shared/loopback.ts";
import { exposure } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { clientAddress } from "../limits/limits.ts";
import { SocketSlots } from "../limits/slots.ts";
import { failure, log } from "../shared/log.ts";
import {
  type Incoming,
  invalidRequest,
  type Outgoing,
  type Refusal,
  refusal,
  type RequestHead,
  splitTarget,
  toResponse,
} from "../shared/http.ts";
import type {
  ByteCount,
  FetchEngine,
  PlatformSocket,
} from "../wire/fetch_engine.ts";
import { EventEmitter } from "node:events";
import { closed, track } from "../http/closing.ts";

/**
 * How long a request is not watched for the end of its client. Deno prints a warning once the signal of any
 * request is read, so short requests, which are nearly all, must not read one.
 */
const SHORT_MS = 1_000;

/** Time limit for the body of a request, as that of `listen`; a late one is answered with 408. */
const BODY_TIMEOUT_MS = 60_000;

/** The parts of a server that {@linkcode FetchRequests} needs. */
interface FetchRequestsParts<Info> extends RequestParts {
  /** Answers what is no upgrade. */
  readonly app: Hono<SmcpEnv>;
  /** Handles upgrades that pass the gate. */
  readonly engine: FetchEngine;
  /** Counts the bytes of bodies. */
  readonly bytes: ByteCount;
  /** The platform. */
  readonly adapter: Adapter<Info>;
  /** Whether requests of other machines are answered. */
  readonly isOpenToAll: boolean;
}

/** A request as its platform gave it, and as the app and the engine see it. */
interface Given {
  readonly request: Request;
  readonly head: RequestHead;
  readonly outgoing: FetchOutgoing;
}

/** Answers the requests of a platform as a listener of `node:http` would, with the same app and gate. */
export class FetchRequests<Info> {
  readonly #parts: FetchRequestsParts<Info>;
  /** Limits open requests and WebSockets. */
  readonly #sockets: SocketSlots;
  /** The open WebSockets. */
  readonly #open = new Set<Outgoing>();

  constructor(parts: FetchRequestsParts<Info>) {
    this.#parts = parts;
    this.#sockets = new SocketSlots(parts);
  }

  /** Resolves when all WebSockets are closed, at the latest after a second. */
  closed(): Promise<void> {
    return closed(this.#open);
  }

  /** Answers a request. */
  async answer(request: Request, info: Info | undefined): Promise<Response> {
    const { adapter, paths } = this.#parts;
    const peer = clientAddress(adapter.addressOf(request, info), undefined, 0);
    const release = this.#judgePeer(peer) ?? this.#sockets.take(peer);
    if (typeof release !== "function") return toResponse(release);
    adapter.hold?.(request, info);
    const head = headOf(request, peer);
    const outgoing = new FetchOutgoing();
    outgoing.once("close", release);
    const isUpgrade = head.headers.upgrade?.toLowerCase() === "websocket";
    const isForEngine = paths.includes(splitTarget(request.url).path);
    const given: Given = { request, head, outgoing };
    return isUpgrade && isForEngine
      ? this.#upgrade(
        given,
        (options) => adapter.upgrade(request, options, info),
      )
      : await this.#exchange(given, isForEngine);
  }

  /** Refuses other machines where clients need no credentials, as `listen` refuses such an address. */
  #judgePeer(address: string): Refusal | undefined {
    const exposed = exposure(address, this.#parts.isOpenToAll);
    if (exposed === undefined) return undefined;
    this.#parts.limiter.recordRefusedHandshake("http", {
      code: ErrorCode.FORBIDDEN,
      reason: `cannot serve ${exposed}; insecure: true allows it`,
      address,
    });
    return refusal(
      403,
      "This server has no authentication, so it serves its own machine alone",
    );
  }

  #upgrade(
    { head, outgoing }: Given,
    make: (options: UpgradeOptions) => Upgraded,
  ): Response {
    try {
      const refused = admitUpgrade(head, outgoing, this.#parts);
      if (refused) return refuse(refused, outgoing);
      const { response, socket } = this.#parts.engine.upgrade(head, make);
      if (socket === undefined) outgoing.close();
      else {
        outgoing.destroy = () => socket.close();
        socket.whenGone(() => outgoing.close());
        track(this.#open, outgoing);
      }
      return response;
    } catch (error) {
      log.warn("Cannot answer an upgrade request", failure(error));
      return refuse(invalidRequest(), outgoing);
    }
  }

  async #exchange(
    { request: given, head, outgoing }: Given,
    isForEngine: boolean,
  ): Promise<Response> {
    const { app, bytes } = this.#parts;
    // The answer to a client that is gone is not read; a call that it waits for ends.
    const gone = new AbortController();
    const leave = () => {
      outgoing.close();
      gone.abort();
    };
    const watch = setTimeout(() => {
      if (given.signal.aborted) leave();
      else given.signal.addEventListener("abort", leave);
    }, SHORT_MS);
    const late = Promise.withResolvers<Response>();
    const end = () => late.resolve(new Response(null, { status: 408 }));
    const timer = given.body ? setTimeout(end, BODY_TIMEOUT_MS) : undefined;
    const request = isForEngine
      ? given
      : ownRequest(given, gone.signal, () => clearTimeout(timer));
    const incoming = incomingOf(head, request.body, bytes);
    outgoing.once("close", () => {
      clearTimeout(timer);
      incoming.resume();
    });
    const answer = await Promise.race([
      app.fetch(request, { incoming, outgoing }),
      late.promise,
    ]).finally(() => clearTimeout(watch));
    return outgoing.passed(answer, bytes);
  }
}

/** Returns a request as `node:http` has it, without its body. */
const headOf = (request: Request, peer: string): RequestHead => ({
  method: request.method,
  url: request.url,
  headers: Object.fromEntries(request.headers),
  socket: {
    remoteAddress: peer,
    // A connection has both ends on this machine, or none: what reaches a loopback address comes from one.
    localAddress: isLoopback(peer) ? peer : undefined,
    encrypted: request.url.startsWith("https:"),
  },
});

/** Ends the connection with a refusal: its client expects no more HTTP. */
function refuse(refused: Refusal, outgoing: FetchOutgoing): Response {
  outgoing.close();
  const headers = { ...refused.headers, Connection: "close" };
  return toResponse({ ...refused, headers });
}

/**
 * Returns the same request with a signal of ours.
 *
 * @param whenRead called when its body has been read to its end: its answer may take longer
 */
function ownRequest(
  { url, method, headers, body }: Request,
  signal: AbortSignal,
  whenRead: () => void,
): Request {
  const watch = new TransformStream({ flush: whenRead });
  return new Request(url, {
    method,
    headers,
    signal,
    ...(body && { body: body.pipeThrough(watch), duplex: "half" }),
  });
}

/**
 * Returns a request with a body that is read once, by iterating over it, if not by the `Request`
 * itself. Reading throws when the client is gone, or the body was dropped.
 *
 * @param bytes counts those of the body
 */
function incomingOf(
  head: RequestHead,
  body: ReadableStream<Uint8Array> | null,
  bytes: ByteCount,
): Incoming {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isDropped = false;
  const resume = () => {
    isDropped = true;
    (reader ?? body)?.cancel().catch(() => {}); // whoever reads it has it
  };
  return {
    ...head,
    resume,
    async *[Symbol.asyncIterator]() {
      reader ??= body?.getReader();
      try {
        while (true) {
          const { value } = await reader?.read() ?? {};
          if (isDropped) throw new Error("The body was dropped");
          if (value === undefined) return;
          bytes.received += value.length;
          yield value;
        }
      } finally {
        resume();
      }
    },
  };
}

/** The type of responses that last. */
const EVENT_STREAM = "text/event-stream";

/** The end of a response, or of the WebSocket of an upgrade. */
class FetchOutgoing extends EventEmitter implements Outgoing {
  /** Ends it early. */
  destroy: () => void = () => this.close();
  /** Whether the body of the response is not complete yet. */
  #lasts = false;
  closed = false;

  readonly lasts = (): void => {
    this.#lasts = true;
  };

  /** Notes that it has come. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.emit("close");
  }

  /**
   * Passes a response on, and closes with it: with the end of its body, if that lasts.
   *
   * @param bytes counts those of a body that lasts
   */
  passed(response: Response, bytes: ByteCount): Response {
    const { status, headers } = response;
    const lasts = this.#lasts ||
      headers.get("content-type")?.startsWith(EVENT_STREAM);
    // Of others the body is not touched: the platform would send it in chunks.
    const body = lasts ? response.body : null;
    if (body === null) {
      this.close();
      return response;
    }
    const reader = body.getReader();
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.destroy = () => {
          if (!this.closed) {
            controller.error(new Error("The server ended the response"));
            reader.cancel().catch(() => {});
          }
          this.close();
        };
      },
      pull: async (controller) => {
        const { value, done } = await reader.read();
        if (this.closed) return;
        if (value !== undefined) {
          bytes.sent += value.length;
          return controller.enqueue(value);
        }
        if (!done) return;
        controller.close();
        this.close();
      },
      cancel: (reason) => {
        this.close();
        return reader.cancel(reason);
      },
    });
    return new Response(stream, { status, headers });
  }
}

/**
 * A platform that calls a `fetch` handler with each request, as the Server uses it: `deno()`, `bun()`,
 * that of Cloudflare Workers, or one of your own.
 *
 * @typeParam Info the second argument of the platform's handler
 */
export interface Adapter<Info> {
  /** The platform's name, for messages. */
  readonly name: string;
  /** Maximum bytes of a message that the platform hands over; default no maximum. */
  readonly maxMessageBytes?: number;
  /**
   * Returns the address of the other end of a request: `localhost` for a socket of this machine, empty
   * where it is not known.
   */
  addressOf(request: Request, info: Info | undefined): string;
  /** Lets the answer to a request take any time, where the platform ends a slow one. */
  hold?(request: Request, info: Info | undefined): void;
  /**
   * Makes a WebSocket of a request. It is not open yet, and must not close by itself when it is idle.
   *
   * @param options the subprotocol to answer with, if any
   * @returns the WebSocket, and the response to return from the handler
   * @throws {TypeError} when the request is no valid upgrade
   */
  upgrade(
    request: Request,
    options: UpgradeOptions,
    info: Info | undefined,
  ): Upgraded;
  /**
   * Calls back once another isolate of this platform serves the same program, where there may be several:
   * without a cluster each would have offices of its own. Called with the first request.
   *
   * @returns stops watching
   */
  readonly watchOthers?: (found: () => void) => () => void;
}

/** How a WebSocket is made. */
export interface UpgradeOptions {
  /** The subprotocol to answer with. */
  readonly protocol?: string;
}

/** What a platform makes of an upgrade request. */
export interface Upgraded {
  /** The WebSocket. */
  readonly socket: PlatformSocket;
  /** What the handler returns. */
  readonly response: Response;
}
