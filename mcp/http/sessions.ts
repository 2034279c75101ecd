/**
 * Sessions of clients of MCP 2025-11-25 and before.
 *
 * The first request, `initialize`, opens a session, which later ones find by their `Mcp-Session-Id`. When no
 * request or stream is open, two timers run: one cancels the calls of a client that is gone, one ends the
 * session.
 *
 * @module
 */
import {
  isInitializeRequest,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import type { ServerParts } from "../office/server_parts.ts";
import { callerIn, type Message, toAuthInfo } from "../caller.ts";
import { refusal, RpcError, untilEnd } from "./guards.ts";
import type { QuickAnswers } from "./quick_answer.ts";
import type { QuickMessage } from "./quick_message.ts";
import { RunningAnswers, type Sender } from "./running_answers.ts";
import type { CallingClient, Introduction } from "../office/begun_call.ts";
import type { EventRoom } from "./kept_events.ts";
import { type SessionPlace, SessionServer } from "./session_server.ts";
import { UseTable } from "./use_table.ts";
import { IdleTimer } from "../../shared/time/idle_timer.ts";
import { type GatewayPost, ownerOf } from "../../shared/gateway.ts";

/** A POST with a request of a session. */
export interface SessionPost extends Pick<GatewayPost, "headers" | "outgoing"> {
  readonly message: QuickMessage;
}

/** The sessions of clients of MCP 2025-11-25 and before, which open a stream to be notified of changes. */
export class Sessions {
  readonly #parts: ServerParts;
  /** By id. */
  readonly #sessions = new UseTable<Session>();
  readonly #answers: QuickAnswers;
  readonly #room: EventRoom;

  /** @param room for what their streams have sent */
  constructor(parts: ServerParts, answers: QuickAnswers, room: EventRoom) {
    this.#parts = parts;
    this.#answers = answers;
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
    if (!session || session.owner !== ownerOf(callerIn(message.authInfo))) {
      const why =
        "Session not found: it ended; send initialize to begin another";
      return refusal(404, why, RpcError.NO_SESSION);
    }
    this.#sessions.use(id);
    return await session.serve(request, message);
  }

  /** Answers a request past the MCP SDK, where its session can; returns whether it does. */
  answer(post: SessionPost, sender: Sender): boolean {
    const id = String(post.headers["mcp-session-id"]);
    const session = this.#sessions.get(id);
    const isOwn = session?.owner === ownerOf(sender.caller);
    const client = isOwn ? session?.client : undefined;
    if (session === undefined || client === undefined) return false;
    this.#sessions.use(id);
    session.answer(post, { ...client, ...sender }, this.#answers);
    return true;
  }

  /** Notifies all clients of a change. */
  notify(event: ServerEvent): void {
    for (const session of this.#all) session.notify(event);
  }

  /** Ends the sessions of a client. */
  forget(owner: string): void {
    for (const session of this.#all) {
      if (session.owner === owner) void session.close();
    }
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((session) => session.close()));
  }

  get #all(): Session[] {
    return this.#sessions.all.map(([, session]) => session);
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
    if (!this.#sessions.makeRoom(maxSessions, isIdle, close)) {
      return refusal(503, `Too many sessions: at most ${maxSessions}`);
    }
    const id = crypto.randomUUID(); // no other client has it before the response
    const ended = () => this.#sessions.delete(id);
    const owner = ownerOf(callerIn(message.authInfo));
    const at = { id, room: this.#room };
    const session = new Session(this.#parts, at, owner, ended);
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

/** The session of one client of MCP 2025-11-25 or before, which its requests find by their `Mcp-Session-Id`. */
class Session {
  /** Who has opened it, and alone may use it. */
  readonly owner: string;
  readonly #id: string;
  readonly #server: SessionServer;
  /** Answers past the server. */
  readonly #running: RunningAnswers;
  readonly #abandoned: IdleTimer;
  readonly #unused: IdleTimer;
  /** Aborted when the client has no open stream any more; another one follows. */
  #calls = new AbortController();
  /** Requests that are not answered to their end, streams included. */
  #open = 0;
  #hasEnded = false;

  /** @param ended called at its end */
  constructor(
    parts: ServerParts,
    { id, room }: SessionPlace,
    owner: string,
    ended: () => void,
  ) {
    const { sessionIdleMs, abandonedMs } = parts.options;
    this.#id = id;
    this.owner = owner;
    this.#running = new RunningAnswers(parts);
    this.#abandoned = new IdleTimer(() => this.#abandon(), abandonedMs);
    this.#unused = new IdleTimer(() => void this.close(), sessionIdleMs);
    const cancelled = () => this.#calls.signal;
    this.#server = new SessionServer(
      { ...parts, cancelled },
      { id, room },
      () => {
        this.#hasEnded = true;
        this.#abandoned.stop();
        this.#unused.stop();
        this.#running.cancelAll("The session has ended");
        ended();
      },
    );
  }

  /** How its client has introduced itself; `undefined` where it cannot go on. */
  get client(): Introduction | undefined {
    return this.#server.client;
  }

  /** Whether no request or stream is open. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Notifies the client of a change, if it has a stream for that. */
  notify(event: ServerEvent): void {
    this.#server.notify(event);
  }

  /** Answers a request past the server, which makes the answer where the result is unusual. */
  answer(
    { headers, outgoing, message }: SessionPost,
    client: CallingClient,
    all: QuickAnswers,
  ): void {
    this.#begin();
    const answer = all.begin(outgoing, message.id, {
      "mcp-session-id": this.#id,
    });
    answer.onOver(() => this.#end());
    const more = { parsedBody: message.json, ...toAuthInfo(client.caller) };
    this.#running.run({
      message,
      headers,
      client,
      answer,
      inSession: true,
      serve: (request) => this.serve(request, more),
    });
  }

  /** Answers one HTTP request of the client. */
  async serve(request: Request, message: Message): Promise<Response> {
    this.#running.saw(message.parsedBody);
    this.#begin();
    const answer = () => this.#server.handle(request, message);
    return await untilEnd(answer, () => this.#end());
  }

  /** Ends the session and cancels its calls. */
  close(): Promise<void> {
    return this.#server.close();
  }

  #begin(): void {
    if (this.#open++ > 0) return;
    this.#abandoned.begin();
    this.#unused.begin();
  }

  #end(): void {
    if (--this.#open > 0 || this.#hasEnded) return;
    this.#server.rest();
    this.#abandoned.end();
    this.#unused.end();
  }

  /** Cancels the calls of a client that has no open stream. */
  #abandon(): void {
    const why = "The client listens no more";
    this.#calls.abort(new Error(why));
    this.#calls = new AbortController();
    this.#running.cancelAll(why);
  }
}
