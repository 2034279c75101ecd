import { Buffer } from "node:buffer";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Server as Engine } from "engine.io";
import type { Hono } from "hono";
import { ErrorCode } from "../../protocol/mod.ts";
import { exposure, isLoopback } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import type { RequestParts } from "../http/admit_request.ts";
import { admitUpgrade } from "../http/upgrade.ts";
import { clientAddress } from "../limits/limits.ts";
import type { SocketSlots } from "../limits/slots.ts";
import { failure, log } from "../shared/log.ts";
import {
  invalidRequest,
  type Refusal,
  refusal,
  toResponse,
} from "../shared/refusal.ts";
import { splitTarget } from "../shared/request_target.ts";
import { type ByteCount, UpgradeCarrier } from "../wire/fetch/mod.ts";
import type { Adapter } from "./adapter.ts";
import {
  type Ends,
  FetchIncoming,
  FetchOutgoing,
  headersOf,
} from "./fetch_messages.ts";

/** Time limit for the body of a request, as that of `listen`; a late one is answered with 408. */
const BODY_TIMEOUT_MS = 60_000;

type EngineRequest = Parameters<Engine["handleUpgrade"]>[0];
type EngineSocket = Parameters<Engine["handleUpgrade"]>[1];

/** The parts of a server that {@linkcode FetchRequests} needs. */
export interface FetchRequestsParts<Info> extends RequestParts {
  /** Answers what is no upgrade. */
  readonly app: Hono<SmcpEnv>;
  /** Counts the bytes of bodies. */
  readonly bytes: ByteCount;
  /** The platform. */
  readonly adapter: Adapter<Info>;
  /** Limits open requests and WebSockets. */
  readonly sockets: SocketSlots;
  /** Whether requests of other machines are answered. */
  readonly isOpenToAll: boolean;
  /** Called with each WebSocket. */
  opened(carrier: UpgradeCarrier): void;
}

/** Answers the requests of a platform as a listener of `node:http` would, with the same app and gate. */
export class FetchRequests<Info> {
  readonly #parts: FetchRequestsParts<Info>;

  constructor(parts: FetchRequestsParts<Info>) {
    this.#parts = parts;
  }

  /** Answers a request. */
  async answer(
    request: Request,
    info: Info | undefined,
  ): Promise<Response> {
    const { adapter } = this.#parts;
    const peer = clientAddress(adapter.addressOf(request, info), undefined, 0);
    const release = this.#judgePeer(peer) ?? this.#parts.sockets.take(peer);
    if (typeof release !== "function") return toResponse(release);
    // A connection has both ends on this machine, or none: what reaches a loopback address comes from one.
    const ends = {
      remoteAddress: peer,
      localAddress: isLoopback(peer) ? peer : undefined,
      encrypted: request.url.startsWith("https:"),
    };
    if (this.#asksForUpgrade(request)) {
      const carrier = new UpgradeCarrier(
        ends,
        (options) => adapter.upgrade(request, options, info),
      );
      return this.#upgrade(request, carrier, release);
    }
    return await this.#exchange(request, ends, release);
  }

  /** Refuses other machines where nobody has to say who they are, as `listen` refuses such an address. */
  #judgePeer(peer: string): Refusal | undefined {
    const { isOpenToAll, limiter } = this.#parts;
    const exposed = exposure(peer, isOpenToAll);
    if (exposed === undefined) return undefined;
    const code = ErrorCode.FORBIDDEN;
    limiter.recordRefusedHandshake("http", {
      code,
      reason: `cannot serve ${exposed}; insecure: true allows it`,
      address: peer,
    });
    return refusal(403, {
      code,
      message:
        "This server has no authentication, so it serves its own machine alone",
    });
  }

  #asksForUpgrade(request: Request): boolean {
    return request.headers.get("upgrade")?.toLowerCase() === "websocket" &&
      this.#isForEngine(request);
  }

  #isForEngine({ url }: Request): boolean {
    return this.#parts.paths.includes(splitTarget(url).path);
  }

  #upgrade(
    request: Request,
    carrier: UpgradeCarrier,
    release: () => void,
  ): Response {
    carrier.once("close", release);
    // Engine.IO keeps it as long as the connection: only what it uses.
    const kept = {
      method: request.method,
      url: request.url,
      headers: headersOf(request),
      socket: carrier,
      connection: carrier,
    };
    try {
      const refused = admitUpgrade(kept, carrier, this.#parts);
      if (refused) {
        carrier.end();
        return toResponse(closing(refused));
      }
      // The same duck types as in node:http, of which Engine.IO uses what these have.
      this.#parts.connections.engine.handleUpgrade(
        kept as unknown as EngineRequest,
        carrier as unknown as EngineSocket,
        EMPTY,
      );
      this.#parts.opened(carrier);
      return carrier.respond();
    } catch (error) {
      log.warn("Cannot answer an upgrade request", failure(error));
      carrier.end();
      return toResponse(closing(invalidRequest()));
    }
  }

  async #exchange(
    given: Request,
    ends: Ends,
    release: () => void,
  ): Promise<Response> {
    const { app, bytes } = this.#parts;
    const outgoing = new FetchOutgoing(bytes);
    const late = Promise.withResolvers<Response>();
    const timer = given.body === null ? undefined : setTimeout(() => {
      outgoing.writeHead(408).end();
      late.resolve(new Response(null, { status: 408 }));
    }, BODY_TIMEOUT_MS);
    const request = this.#isForEngine(given)
      ? given
      : whenRead(given, () => clearTimeout(timer));
    const incoming = new FetchIncoming(request, ends, bytes);
    outgoing.once("close", () => {
      clearTimeout(timer);
      incoming.destroy();
      release();
    });
    // A client that is gone before its body has arrived waits for no answer.
    incoming.once("close", () => {
      if (!incoming.readableEnded) outgoing.close();
    });
    const answer = await Promise.race([
      app.fetch(
        request,
        { incoming, outgoing } as unknown as HttpBindings,
      ),
      late.promise,
    ]);
    if (!answer.headers.has(ALREADY_SENT)) {
      return outgoing.passed(answer, request.method === "HEAD");
    }
    return request.method === "GET"
      ? outgoing.streamed()
      : await outgoing.written();
  }
}

/** Calls back when the body of a request has been read to its end: its answer may take longer. */
function whenRead(request: Request, callBack: () => void): Request {
  if (request.body === null) return request;
  const watch = new TransformStream({ flush: callBack });
  return new Request(request, { body: request.body.pipeThrough(watch) });
}

const EMPTY = Buffer.alloc(0);

/** Ends the connection after a refusal: its client expects no more HTTP. */
const closing = (refused: Refusal): Refusal => ({
  ...refused,
  headers: { ...refused.headers, Connection: "close" },
});

/** The header that says that the answer is written to the other response. */
const [ALREADY_SENT = ""] = RESPONSE_ALREADY_SENT.headers.keys();
