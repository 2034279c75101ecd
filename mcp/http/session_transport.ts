import {
  type JSONRPCMessage,
  type RequestId,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Message } from "../caller.ts";
import { refusal, RpcError } from "./guards.ts";
import type { SessionEvents } from "./kept_events.ts";
import { cancelledBy, RequestIds } from "../office/request_ids.ts";
import { isRecord } from "../../protocol/names.ts";

/**
 * The transport of one session, as clients use it: some have several requests of one id in flight, and
 * some open a stream of changes again whose end the Server has not noticed.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #ids = new RequestIds();
  readonly #events: SessionEvents;

  /**
   * @param id of the session
   * @param events what its streams have sent
   */
  constructor(id: string, events: SessionEvents) {
    super({ sessionIdGenerator: () => id, eventStore: events });
    this.#events = events;
  }

  /** Ends the session, and answers all of its requests. */
  override async close(): Promise<void> {
    const ending = this.#ids.open
      .map((id) => this.#end(id, "The session has ended"));
    await Promise.all(ending);
    this.#events.clear();
    await super.close();
  }

  /** Connects a server with it. */
  async serve(server: Server): Promise<void> {
    await server.connect(this);
    const { onmessage } = this;
    this.onmessage = (message, extra) => {
      for (const each of this.#ids.spread(message)) {
        onmessage?.(each, extra);
        const id = cancelledBy(each);
        if (id !== undefined) void this.#end(id, "It was cancelled");
      }
    };
  }

  /** Answers one HTTP request; the stream of changes that was opened last replaces any before. */
  override async handleRequest(
    request: Request,
    { parsedBody, ...message }: Message,
  ): Promise<Response> {
    const last = request.headers.get("last-event-id");
    if (last !== null && !this.#events.has(last)) {
      return refusal(400, "Nothing is kept of the stream of Last-Event-ID");
    }
    const body = Array.isArray(parsedBody)
      ? parsedBody.map((each) => this.#ids.begin(each))
      : this.#ids.begin(parsedBody);
    const answer = () =>
      super.handleRequest(request, { ...message, parsedBody: body });
    const response = await answer();
    if (!response.ok) this.#forget(body);
    if (request.method !== "GET" || response.status !== 409) return response;
    this.closeStandaloneSSEStream();
    return await answer();
  }

  /** Sends a message on the stream of its request. */
  override send(
    message: JSONRPCMessage,
    options?: { relatedRequestId?: RequestId },
  ): Promise<void> {
    const given = this.#ids.giveBack(message);
    // The stream is found by our id, and the client reads its own.
    const routed = Object.defineProperty({ ...message }, "toJSON", {
      value: () => given,
    });
    return super.send(routed, options);
  }

  /**
   * Answers a request that has no answer otherwise: a client that supports `Last-Event-ID` opens a stream again
   * that ends without one.
   */
  async #end(id: RequestId, message: string): Promise<void> {
    const error = { code: RpcError.REFUSED, message };
    await this.send({ jsonrpc: "2.0", id, error }).catch(() => {
      // It has been answered meanwhile.
    });
  }

  /** Forgets the requests of a body that was refused. */
  #forget(body: unknown): void {
    for (const message of [body].flat()) {
      if (!isRecord(message)) continue;
      const { method, id } = message;
      if (typeof method === "string" && typeof id === "string") {
        this.#ids.end(id);
      }
    }
  }
}
