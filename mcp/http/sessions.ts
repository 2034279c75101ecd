import {
  type AuthInfo,
  isInitializeRequest,
  type Server,
  type ServerEvent,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { httpError, onBodyEnd, RpcError } from "./face.ts";
import { tellClient } from "../office/server.ts";
import type { ResolvedOptions } from "../options.ts";

/** What sessions need. */
export interface SessionsParts {
  /** How many, and how long they live. */
  readonly options: Pick<
    ResolvedOptions,
    "maxSessions" | "sessionIdleMs" | "abandonedMs"
  >;
  /** Makes the server of a session. */
  readonly createServer: (cancelled: () => AbortSignal) => Promise<Server>;
}

/** The sessions of clients of MCP 2025-11-25 and before, which open a stream to hear of changes. */
export class Sessions {
  readonly #parts: SessionsParts;
  /** By id; those used longest ago come first. */
  readonly #sessions = new Map<string, Session>();
  /** Those without an id as yet. */
  readonly #opening = new Set<Session>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** How many are open. */
  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Answers one HTTP request.
   *
   * @param authInfo whose it is; the sessions of others do not exist for it
   */
  async serve(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return await this.#open(request, parsedBody, authInfo);
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== authInfo?.clientId) {
      return httpError(
        404,
        RpcError.NO_SESSION,
        "Session not found: it ended; send initialize to begin another",
      );
    }
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return await session.serve(request, parsedBody, authInfo);
  }

  /** Tells all clients of a change. */
  tell(event: ServerEvent): void {
    for (const session of this.#sessions.values()) session.tell(event);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map((session) => session.close()));
  }

  async #open(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    const isOpening = request.method === "POST" &&
      [parsedBody].flat().some((message) => isInitializeRequest(message));
    if (!isOpening) {
      return httpError(
        400,
        RpcError.REFUSED,
        "Mcp-Session-Id header is required: send initialize first",
      );
    }
    if (!this.#makeRoom()) {
      return httpError(
        503,
        RpcError.REFUSED,
        `Too many sessions: at most ${this.#parts.options.maxSessions}`,
      );
    }
    const session = new Session({
      principal: authInfo?.clientId,
      options: this.#parts.options,
      opened: (id, session) => {
        this.#opening.delete(session);
        this.#sessions.set(id, session);
      },
      ended: (id) => this.#sessions.delete(id),
    });
    this.#opening.add(session);
    try {
      return await this.#answerFirst(session, request, parsedBody, authInfo);
    } finally {
      this.#opening.delete(session);
    }
  }

  async #answerFirst(
    session: Session,
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    await session.connect(await this.#parts.createServer(session.cancelled));
    const response = await session.serve(request, parsedBody, authInfo);
    if (!response.ok) await session.close(); // it has no id that anybody could use
    return response;
  }

  /** Ends the session that was idle longest where there is no room; not so where all are in use. */
  #makeRoom(): boolean {
    const { maxSessions } = this.#parts.options;
    if (this.#sessions.size + this.#opening.size < maxSessions) return true;
    const idle = [...this.#sessions.values()].find(({ isIdle }) => isIdle);
    void idle?.close();
    return idle !== undefined;
  }
}

/** What a session is made with. */
export interface SessionParts {
  /** Who opened it; nobody else may use it. */
  readonly principal: string | undefined;
  /** How long it lives without its client. */
  readonly options: Pick<ResolvedOptions, "sessionIdleMs" | "abandonedMs">;
  /** Told once it can be found by its id. */
  readonly opened: (id: string, session: Session) => void;
  /** Told once it has ended. */
  readonly ended: (id: string) => void;
}

/**
 * One client of MCP 2025-11-25 or before: its server, and the transport that HTTP requests with its
 * `Mcp-Session-Id` go to.
 */
export class Session {
  /** Who opened it. */
  readonly principal: string | undefined;
  readonly #options: SessionParts["options"];
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  #server: Server | undefined;
  #calls = new AbortController();
  /** Requests that are not answered to their end, streams included. */
  #open = 0;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #hasEnded = false;

  /** Makes a session that its first request opens. */
  constructor({ principal, options, opened, ended }: SessionParts) {
    this.principal = principal;
    this.#options = options;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => opened(id, this),
    });
    this.#transport.onclose = () => {
      const { sessionId } = this.#transport;
      this.#hasEnded = true;
      this.#stopTimers();
      if (sessionId !== undefined) ended(sessionId);
    };
  }

  /** Aborted when the client listens no more; another signal follows. */
  readonly cancelled = (): AbortSignal => this.#calls.signal;

  /** Whether nobody waits for anything of it. */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Joins the session with the server that answers it. */
  async connect(server: Server): Promise<void> {
    this.#server = server;
    await server.connect(this.#transport);
  }

  /** Answers one HTTP request of the client. */
  async serve(
    request: Request,
    parsedBody: unknown,
    authInfo: AuthInfo | undefined,
  ): Promise<Response> {
    this.#open++;
    this.#stopTimers();
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      if (--this.#open === 0) this.#startTimers();
    };
    try {
      const response = await this.#transport.handleRequest(request, {
        parsedBody,
        ...(authInfo && { authInfo }),
      });
      return onBodyEnd(response, over);
    } catch (error) {
      over();
      throw error;
    }
  }

  /** Tells the client of a change, if it listens. */
  tell(event: ServerEvent): void {
    if (this.#server) tellClient(this.#server, event);
  }

  /** Ends the session and cancels its calls. */
  async close(): Promise<void> {
    await this.#transport.close();
  }

  #startTimers(): void {
    if (this.#hasEnded) return;
    const { sessionIdleMs, abandonedMs } = this.#options;
    this.#timers = [
      setTimeout(() => {
        this.#calls.abort(new Error("The client listens no more"));
        this.#calls = new AbortController();
      }, abandonedMs),
      setTimeout(() => void this.close(), sessionIdleMs),
    ];
  }

  #stopTimers(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }
}
