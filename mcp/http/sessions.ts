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
} from "@modelcontextprotocol/server";
import {
  createOfficeServer,
  type ServerParts,
  tellClient,
} from "../office/server.ts";
import { makeRoom, refusal, RpcError, untilEnd, useAt } from "./guards.ts";
import { SessionTransport } from "./session_transport.ts";

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
      const why =
        "Session not found: it ended; send initialize to begin another";
      return refusal(404, why, RpcError.NO_SESSION);
    }
    useAt(this.#sessions, id);
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
      const why = "Mcp-Session-Id header is required: send initialize first";
      return refusal(400, why);
    }
    const { options: { maxSessions } } = this.#parts;
    const isIdle = (session: Session) => session.isIdle();
    const close = (session: Session) => session.close();
    if (!makeRoom(this.#sessions, maxSessions, isIdle, close)) {
      return refusal(503, `Too many sessions: at most ${maxSessions}`);
    }
    const id = crypto.randomUUID(); // nobody else has it before the response
    const ended = () => this.#sessions.delete(id);
    const principal = message.authInfo?.clientId;
    const session = openSession(this.#parts, id, principal, ended);
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

type Session = ReturnType<typeof openSession>;

/**
 * Opens the session of one client of MCP 2025-11-25 or before: its server, and the transport that HTTP
 * requests with its `Mcp-Session-Id` go to.
 *
 * @param principal who opens it; nobody else may use it
 * @param ended called at its end
 */
function openSession(
  parts: ServerParts,
  id: string,
  principal: string | undefined,
  ended: () => void,
) {
  const { sessionIdleMs, abandonedMs } = parts.options;
  const transport = new SessionTransport({ sessionIdGenerator: () => id });
  /** Answers the client, from its first request on. */
  let server: Server | undefined;
  /** Aborted when the client listens no more; another one follows. */
  let calls = new AbortController();
  /** Requests that are not answered to their end, streams included. */
  let open = 0;
  let timers: ReturnType<typeof setTimeout>[] = [];
  let hasEnded = false;

  const stopTimers = () => timers.splice(0).forEach(clearTimeout);

  const startTimers = () => {
    if (hasEnded) return;
    timers = [
      setTimeout(() => {
        calls.abort(new Error("The client listens no more"));
        calls = new AbortController();
      }, abandonedMs),
      setTimeout(() => void transport.close(), sessionIdleMs),
    ];
  };

  async function connect(): Promise<void> {
    const cancelled = () => calls.signal;
    server = await createOfficeServer({ ...parts, cancelled });
    await transport.serve(server);
  }

  transport.onclose = () => {
    hasEnded = true;
    stopTimers();
    ended();
  };
  return {
    principal,
    /** Whether nobody waits for anything of it. */
    isIdle: (): boolean => open === 0,
    /** Tells the client of a change, if it listens. */
    tell: (event: ServerEvent) => server && tellClient(server, event),
    /** Answers one HTTP request of the client. */
    async serve(request: Request, message: Message): Promise<Response> {
      open++;
      stopTimers();
      const answer = async () => {
        if (!server) await connect();
        return await transport.handleRequest(request, message);
      };
      return await untilEnd(answer, () => {
        if (--open === 0) startTimers();
      });
    },
    /** Ends the session and cancels its calls. */
    close: (): Promise<void> => transport.close(),
  };
}
