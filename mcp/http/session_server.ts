/**
 * The MCP SDK's server of one session.
 *
 * It answers `initialize`, and is dropped then: the quick door needs only what the client has said of itself,
 * and a server with its transport takes far more memory than a session. The first request that needs one makes
 * another, which gets the same `initialize` before it.
 *
 * @module
 */
import {
  isInitializedNotification,
  type Server,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import { acceptsBoth } from "./guards.ts";
import { type EventRoom, SessionEvents } from "./kept_events.ts";
import { isSessionVersion } from "./quick_message.ts";
import { SessionTransport } from "./session_transport.ts";
import type { Message } from "../caller.ts";
import type { Introduction } from "../office/begun_call.ts";
import { createOfficeServer, notifyClient } from "../office/server.ts";
import type { ServerParts } from "../office/server_parts.ts";

/** A request like the one that the SDK has answered; the path is of no account. */
const again = (): Request =>
  new Request("http://office/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
  });

/** The id of a session, and the room for what its streams have sent. */
export interface SessionPlace {
  readonly id: string;
  readonly room: EventRoom;
}

/** A server of the MCP SDK with its transport. */
interface Connected {
  readonly server: Server;
  readonly transport: SessionTransport;
}

/** Answers the requests of one session by the MCP SDK. */
export class SessionServer {
  readonly #place: SessionPlace;
  readonly #parts: ServerParts;
  readonly #ended: () => void;
  /** The request that has opened the session. */
  #opening: Message | undefined;
  #introduction: Introduction | undefined;
  #connecting: Promise<Connected> | undefined;
  #connected: Connected | undefined;
  /** Whether it has answered the opening request alone. */
  #isFresh = true;
  #hasEnded = false;

  /** @param ended called at the end of the session, however it ends */
  constructor(parts: ServerParts, place: SessionPlace, ended: () => void) {
    this.#parts = parts;
    this.#place = place;
    this.#ended = ended;
  }

  /** How the client has introduced itself; `undefined` before that, and after the end. */
  get client(): Introduction | undefined {
    return this.#hasEnded ? undefined : this.#introduction;
  }

  /** Notifies the client of a change, if it has a stream for that. */
  notify(event: ServerEvent): void {
    if (this.#connected) notifyClient(this.#connected.server, event);
  }

  /** Answers one HTTP request. */
  async handle(request: Request, message: Message): Promise<Response> {
    const isNotice = isInitializedNotification(message.parsedBody);
    const isUseless = isNotice && this.client !== undefined &&
      this.#connecting === undefined && isValid(request.headers);
    if (isUseless) return new Response(null, { status: 202 });
    if (this.#opening && !isNotice) this.#isFresh = false;
    this.#opening ??= message;
    const { server, transport } = await this.#connect();
    const response = await transport.handleRequest(request, message);
    this.#introduction ??= introductionTo(server);
    return response;
  }

  /** Drops the server, while nothing but the opening of the session has come to it. */
  rest(): void {
    const connected = this.#connected;
    this.#introduction ??= connected && introductionTo(connected.server);
    if (!connected || !this.#isFresh || !this.#introduction) return;
    this.#connected = undefined;
    this.#connecting = undefined;
    void connected.transport.close();
  }

  /** Ends the session. */
  async close(): Promise<void> {
    const connected = this.#connected;
    if (connected) await connected.transport.close();
    else this.#end();
  }

  #connect(): Promise<Connected> {
    return this.#connecting ??= this.#open();
  }

  async #open(): Promise<Connected> {
    const { id, room } = this.#place;
    const server = await createOfficeServer(this.#parts, "2025");
    const transport = new SessionTransport(id, new SessionEvents(room));
    transport.onclose = () => {
      if (this.#connected?.transport === transport) this.#end();
    };
    await transport.serve(server);
    if (this.#introduction && this.#opening) {
      const response = await transport.handleRequest(again(), this.#opening);
      await response.text();
    }
    this.#connected = { server, transport };
    if (this.#hasEnded) await transport.close();
    return this.#connected;
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#ended();
  }
}

/** Whether the MCP SDK would take a notification with such headers. */
const isValid = (headers: Headers): boolean =>
  acceptsBoth(headers.get("accept") ?? undefined) &&
  isSessionVersion(headers.get("mcp-protocol-version") ?? undefined);

function introductionTo(server: Server): Introduction | undefined {
  const info = server.getClientVersion();
  return info && { info, capabilities: server.getClientCapabilities() };
}
