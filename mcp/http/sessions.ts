/**
 * Sessions of clients of MCP 2025-11-25 and before.
 *
 * The first request, `initialize`, makes a server and a transport, which later ones find by their
 * `Mcp-Session-Id`. When no request or stream is open, two timers run: one cancels the calls that
 * nobody waits for, one ends the session.
 *
 * @module
 */
import {
  type AuthInfo,
  isInitializeRequest,
  type Server,
  type ServerEvent,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import {
  createOfficeServer,
  type ServerParts,
  tellClient,
} from "../office/server.ts";
import type { ResolvedOptions } from "../options.ts";
import { refusal, RpcError, untilEnd } from "./guards.ts";

/** A request's body, and whose it is, as transports of the MCP SDK take them. */
export interface Message {
  readonly parsedBody: unknown;
  readonly authInfo?: AuthInfo;
}

/** The sessions of clients of MCP 2025-11-25 and before, which open a stream to be notified of changes. */
export class Sessions {
  readonly #parts: ServerParts;
  /** By id; those used longest ago come first. */
  readonly #sessions = new Map<string, Session>();
  /** Those without an id as yet. */
  readonly #opening = new Set<Session>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
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
      return refusal(
        404,
        "Session not found: it ended; send initialize to begin another",
        RpcError.NO_SESSION,
      );
    }
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return await session.serve(request, message);
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

  async #open(request: Request, message: Message): Promise<Response> {
    const isOpening = request.method === "POST" &&
      [message.parsedBody].flat().some((each) => isInitializeRequest(each));
    if (!isOpening) {
      return refusal(
        400,
        "Mcp-Session-Id header is required: send initialize first",
      );
    }
    const { options } = this.#parts;
    if (!this.#makeRoom(options.maxSessions)) {
      return refusal(503, `Too many sessions: at most ${options.maxSessions}`);
    }
    const session = new Session(message.authInfo?.clientId, options, {
      opened: (id) => {
        this.#opening.delete(session);
        this.#sessions.set(id, session);
      },
      ended: (id) => this.#sessions.delete(id),
    });
    this.#opening.add(session);
    try {
      const { cancelled } = session;
      const server = await createOfficeServer({ ...this.#parts, cancelled });
      await session.connect(server);
      const response = await session.serve(request, message);
      if (!response.ok) await session.close(); // it has no id that anybody could use
      return response;
    } finally {
      this.#opening.delete(session);
    }
  }

  /** Ends the session that was idle longest where there is no room; not so where all are in use. */
  #makeRoom(maxSessions: number): boolean {
    if (this.#sessions.size + this.#opening.size < maxSessions) return true;
    const idle = [...this.#sessions.values()].find(({ isIdle }) => isIdle);
    void idle?.close();
    return idle !== undefined;
  }
}

/**
 * One client of MCP 2025-11-25 or before: its server, and the transport that HTTP requests with its
 * `Mcp-Session-Id` go to.
 */
class Session {
  /** Who opened it; nobody else may use it. */
  readonly principal: string | undefined;
  readonly #options: ResolvedOptions;
  readonly #transport: WebStandardStreamableHTTPServerTransport;
  #server: Server | undefined;
  #calls = new AbortController();
  /** Requests that are not answered to their end, streams included. */
  #open = 0;
  #timers: ReturnType<typeof setTimeout>[] = [];
  #hasEnded = false;

  /** Makes a session that its first request opens: then it can be found by its id. */
  constructor(
    principal: string | undefined,
    options: ResolvedOptions,
    { opened, ended }: Record<"opened" | "ended", (id: string) => void>,
  ) {
    this.principal = principal;
    this.#options = options;
    this.#transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: opened,
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
  async serve(request: Request, message: Message): Promise<Response> {
    this.#open++;
    this.#stopTimers();
    return await untilEnd(
      () => this.#transport.handleRequest(request, message),
      () => {
        if (--this.#open === 0) this.#startTimers();
      },
    );
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
