import {
  type AuthInfo,
  type Server,
  type ServerEvent,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { onBodyEnd } from "./open_bodies.ts";
import { tellClient } from "../office/tell_client.ts";
import type { ResolvedOptions } from "../options.ts";

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
