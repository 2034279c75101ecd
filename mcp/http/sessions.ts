/**
 * Sessions of clients of MCP 2025-11-25 and before.
 *
 * The first request, `initialize`, makes a server and a transport, which later ones find by their
 * `Mcp-Session-Id`; what its streams send is kept for a while (kept_events.ts). When no request or stream is open, two timers run: one cancels the calls
 * of a client that is gone, one ends the session.
 *
 * @module
 */
import {
  isInitializeRequest,
  type Server,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import { createOfficeServer, notifyClient } from "../office/server.ts";
import type { ServerParts } from "../office/server_parts.ts";
import { makeRoom, refusal, RpcError, untilEnd, useAt } from "./guards.ts";
import { type EventRoom, SessionEvents } from "./kept_events.ts";
import { type Message, SessionTransport } from "./session_transport.ts";

/** The sessions of clients of MCP 2025-11-25 and before, which open a stream to be notified of changes. */
export class Sessions {
  readonly #parts: ServerParts;
  /** By id; those used longest ago come first. */
  readonly #sessions = new Map<string, Session>();

  readonly #room: EventRoom;

  /** @param room for what their streams have sent */
  constructor(parts: ServerParts, room: EventRoom) {
    this.#parts = parts;
    this.#room = room;
  }

  /** How many are open. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Answers one HTTP request; the sessions of others do not exist for it. */
  async serve(request: Request, message: Message): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return await this.#open(request, message);
    const session = this.#sessions.get(id);
    if (!session || session.principal !== message.authInfo?.clientId) {
      const why =
        "Session not found: it ended; send initialize to begin another";
      return refusal(404, why, RpcError.NO_SESSION);
    }
    useAt(this.#sessions, id);
    return await session.serve(request, message);
  }

  /** Notifies all clients of a change. */
  notify(event: ServerEvent): void {
    for (const session of this.#sessions.values()) session.notify(event);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map((session) => session.close()));
  }

  async #open(request: Request, message: Message): Promise<Response> {
    const isOpening = request.method === "POST" &&
      [message.parsedBody].flat().some((each) => isInitializeRequest(each));
    if (!isOpening) {
      const why = "Mcp-Session-Id header is required: send initialize first";
      return refusal(400, why);
    }
    const { options: { maxSessions } } = this.#parts;
    const isIdle = (session: Session) => session.isIdle;
    const close = (session: Session) => session.close();
    if (!makeRoom(this.#sessions, maxSessions, isIdle, close)) {
      return refusal(503, `Too many sessions: at most ${maxSessions}`);
    }
    const id = crypto.randomUUID(); // no other client has it before the response
    const ended = () => this.#sessions.delete(id);
    const principal = message.authInfo?.clientId;
    const events = new SessionEvents(this.#room);
    const transport = new SessionTransport(id, events);
    const session = new Session(this.#parts, transport, principal, ended);
    this.#sessions.set(id, session);
    let isOpen = false;
    try {
      const response = await session.serve(request, message);
      isOpen = response.ok;
      return response;
    } finally {
      if (!isOpen) await session.close();
    }
  }
}

/**
 * The session of one client of MCP 2025-11-25 or before: its server, and the transport that HTTP
 * requests with its `Mcp-Session-Id` go to.
 */
class Session {
  /** Who has opened it, and alone may use it. */
  readonly principal: string | undefined;
  readonly #parts: ServerParts;
  readonly #transport: SessionTransport;
  /** Answers the client, from its first request on. */
  #server: Server | undefined;
  /** Aborted when the client has no open stream any more; another one follows. */
  #calls = new AbortController();
  /** Requests that are not answered to their end, streams included. */
  #open = 0;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #hasEnded = false;

  /** @param ended called at its end */
  constructor(
    parts: ServerParts,
    transport: SessionTransport,
    principal: string | undefined,
    ended: () => void,
  ) {
    this.#parts = parts;
    this.principal = principal;
    this.#transport = transport;
    transport.onclose = () => {
      this.#hasEnded = true;
      this.#stopTimers();
      ended();
    };
  }

  /** Whether no request or stream is open. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Notifies the client of a change, if it has a stream for that. */
  notify(event: ServerEvent): void {
    if (this.#server) notifyClient(this.#server, event);
  }

  /** Answers one HTTP request of the client. */
  async serve(request: Request, message: Message): Promise<Response> {
    this.#open++;
    this.#stopTimers();
    const answer = async () => {
      if (!this.#server) await this.#connect();
      return await this.#transport.handleRequest(request, message);
    };
    return await untilEnd(answer, () => {
      if (--this.#open === 0) this.#startTimers();
    });
  }

  /** Ends the session and cancels its calls. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  async #connect(): Promise<void> {
    const cancelled = () => this.#calls.signal;
    this.#server = await createOfficeServer(
      { ...this.#parts, cancelled },
      "2025",
    );
    await this.#transport.serve(this.#server);
  }

  #startTimers(): void {
    if (this.#hasEnded) return;
    const { sessionIdleMs, abandonedMs } = this.#parts.options;
    this.#timers = [
      setTimeout(() => {
        this.#calls.abort(new Error("The client listens no more"));
        this.#calls = new AbortController();
      }, abandonedMs),
      setTimeout(() => void this.close(), sessionIdleMs),
    ];
  }

  #stopTimers(): void {
    this.#timers.splice(0).forEach(clearTimeout);
  }
}
