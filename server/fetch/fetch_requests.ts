import type { Hono } from "hono";
import { ErrorCode } from "../../protocol/mod.ts";
import { exposure, isLoopback } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { admitUpgrade, type RequestParts } from "../http/admit_request.ts";
import { clientAddress } from "../limits/limits.ts";
import type { SocketSlots } from "../limits/slots.ts";
import { failure, log } from "../shared/log.ts";
import {
  invalidRequest,
  type Refusal,
  refusal,
  type RequestHead,
  splitTarget,
  toResponse,
} from "../shared/http.ts";
import type { ByteCount, FetchEngine } from "../wire/fetch/mod.ts";
import type { Adapter, Upgraded, UpgradeOptions } from "./adapter.ts";
import {
  type Ends,
  FetchIncoming,
  FetchOutgoing,
  headOf,
} from "./fetch_messages.ts";

/** Time limit for the body of a request, as that of `listen`; a late one is answered with 408. */
const BODY_TIMEOUT_MS = 60_000;

/** The parts of a server that {@linkcode FetchRequests} needs. */
export interface FetchRequestsParts<Info> extends RequestParts {
  /** Answers what is no upgrade. */
  readonly app: Hono<SmcpEnv>;
  /** Handles upgrades that pass the gate. */
  readonly engine: FetchEngine;
  /** Counts the bytes of bodies. */
  readonly bytes: ByteCount;
  /** The platform. */
  readonly adapter: Adapter<Info>;
  /** Limits open requests and WebSockets. */
  readonly sockets: SocketSlots;
  /** Whether requests of other machines are answered. */
  readonly isOpenToAll: boolean;
  /** Called with each WebSocket. */
  opened(end: FetchOutgoing): void;
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
    adapter.hold?.(request, info);
    // A connection has both ends on this machine, or none: what reaches a loopback address comes from one.
    const ends = {
      remoteAddress: peer,
      localAddress: isLoopback(peer) ? peer : undefined,
      encrypted: request.url.startsWith("https:"),
    };
    const outgoing = new FetchOutgoing();
    outgoing.once("close", release);
    const isUpgrade = request.headers.get("upgrade")?.toLowerCase() ===
      "websocket";
    if (isUpgrade && this.#isForEngine(request)) {
      return this.#upgrade(
        headOf(request, ends),
        outgoing,
        (options) => adapter.upgrade(request, options, info),
      );
    }
    return await this.#exchange(request, ends, outgoing);
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

  #isForEngine({ url }: Request): boolean {
    return this.#parts.paths.includes(splitTarget(url).path);
  }

  #upgrade(
    head: RequestHead,
    outgoing: FetchOutgoing,
    make: (options: UpgradeOptions) => Upgraded,
  ): Response {
    const { engine, opened } = this.#parts;
    try {
      const refused = admitUpgrade(head, outgoing, this.#parts);
      if (refused) return refuse(refused, outgoing);
      const { response, socket } = engine.upgrade(head, make);
      if (socket === undefined) outgoing.close();
      else {
        outgoing.destroy = () => socket.close();
        socket.whenGone(() => outgoing.close());
        opened(outgoing);
      }
      return response;
    } catch (error) {
      log.warn("Cannot answer an upgrade request", failure(error));
      return refuse(invalidRequest(), outgoing);
    }
  }

  async #exchange(
    given: Request,
    ends: Ends,
    outgoing: FetchOutgoing,
  ): Promise<Response> {
    const { app, bytes } = this.#parts;
    // Nobody reads the answer of a client that is gone; a call that it waits for ends.
    given.signal.addEventListener("abort", () => outgoing.close());
    const late = Promise.withResolvers<Response>();
    const timer = given.body === null ? undefined : setTimeout(
      () => late.resolve(new Response(null, { status: 408 })),
      BODY_TIMEOUT_MS,
    );
    const request = this.#isForEngine(given)
      ? given
      : whenRead(given, () => clearTimeout(timer));
    const incoming = new FetchIncoming(request, ends, bytes);
    outgoing.once("close", () => {
      clearTimeout(timer);
      incoming.resume();
    });
    const answer = await Promise.race([
      app.fetch(request, { incoming, outgoing }),
      late.promise,
    ]);
    return outgoing.passed(answer, bytes);
  }
}

/** Ends the connection with a refusal: its client expects no more HTTP. */
function refuse(refused: Refusal, outgoing: FetchOutgoing): Response {
  outgoing.close();
  const headers = { ...refused.headers, Connection: "close" };
  return toResponse({ ...refused, headers });
}

/** Calls back when the body of a request has been read to its end: its answer may take longer. */
function whenRead(request: Request, callBack: () => void): Request {
  if (request.body === null) return request;
  const watch = new TransformStream({ flush: callBack });
  return new Request(request, { body: request.body.pipeThrough(watch) });
}
