import {
  type AuthInfo,
  isInitializeRequest,
  type Server,
  type ServerEvent,
} from "@modelcontextprotocol/server";
import { httpError, RpcError } from "./http_error.ts";
import type { ResolvedOptions } from "../options.ts";
import { Session } from "./session.ts";

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
