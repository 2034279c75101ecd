import {
  type AuthInfo,
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { Sessions } from "./sessions.ts";
import { wantIn } from "../office/resources.ts";
import { createOfficeServer, type ServerParts } from "../office/server.ts";
import { wantListened } from "../resources/watches.ts";
import { messageOf } from "../tools/result.ts";

/** Who sends an HTTP request, as far as whoever serves HTTP knows. */
export interface McpCaller {
  /** The name that it proved to have; a session belongs to the one that opened it. */
  readonly principal?: string;
}

/** Serves one view of an office over HTTP: of 2026-07-28 each request for itself, and before it in sessions. */
export class HttpFace {
  readonly #parts: ServerParts;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #sessions: Sessions;
  readonly #off: () => void;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    // Its own serving of 2025 has no streams, so that its clients never hear of changes.
    this.#modern = createMcpHandler(() => createOfficeServer(parts), {
      legacy: "reject",
      maxRequestBodySize: parts.options.maxBodyBytes,
    });
    this.#sessions = new Sessions({
      options: parts.options,
      createServer: (cancelled) => createOfficeServer(parts, cancelled),
    });
    this.#off = parts.view.onChange((event) => {
      this.#modern.bus.publish(event);
      this.#sessions.tell(event);
    });
  }

  /** Whether clients before 2026 have sessions here. */
  get hasSessions(): boolean {
    return this.#sessions.size > 0;
  }

  /** Answers one request, whose headers somebody has checked. */
  async serve(request: Request, caller: McpCaller): Promise<Response> {
    const { options, view } = this.#parts;
    const body = await readBody(request, options.maxBodyBytes);
    if (body instanceof Response) return body;
    try {
      if (request.method !== "DELETE") await view.ready();
    } catch (error) {
      return httpError(503, RpcError.REFUSED, messageOf(error));
    }
    const authInfo = authInfoOf(caller);
    if (await isLegacyRequest(request, body.json)) {
      return await this.#sessions.serve(request, body.json, authInfo);
    }
    const end = wantListened(body.json, wantIn(this.#parts));
    try {
      const response = await this.#modern.fetch(request, {
        parsedBody: body.json,
        ...(authInfo && { authInfo }),
      });
      return end ? onBodyEnd(response, end) : response;
    } catch (error) {
      end?.();
      throw error;
    }
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    this.#off();
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }
}

/** What the MCP SDK hands through to handlers; it holds no token, since nobody checks one here. */
const authInfoOf = ({ principal }: McpCaller): AuthInfo | undefined =>
  principal === undefined
    ? undefined
    : { token: "", clientId: principal, scopes: [] };

/** Reads a body once, for both eras; a refusal where that cannot be. */
async function readBody(
  request: Request,
  maxBytes: number,
): Promise<{ json?: unknown } | Response> {
  if (request.method !== "POST") return {};
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return httpError(
      415,
      RpcError.REFUSED,
      "Content-Type must be application/json",
    );
  }
  const body = await readRequestBody(request, maxBytes);
  if (body.tooLarge) {
    return httpError(
      413,
      RpcError.REFUSED,
      `The body is too large: at most ${maxBytes} bytes`,
    );
  }
  try {
    return { json: JSON.parse(body.text) };
  } catch {
    return httpError(400, RpcError.PARSE, "The body is no valid JSON");
  }
}

/** JSON-RPC codes of errors that belong to no request. */
export const RpcError = {
  /** The body is no JSON. */
  PARSE: -32700,
  /** The request cannot be served as it is. */
  REFUSED: -32000,
  /** There is no such session (2025): the client begins another. */
  NO_SESSION: -32001,
} as const;

/** An HTTP response with a JSON-RPC error, as clients of MCP expect for all that fails before a method. */
export const httpError = (
  status: number,
  code: number,
  message: string,
): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, {
    status,
  });

/**
 * Calls a function once the body of a response has ended, however it ended; at once where there is
 * none.
 *
 * @returns the response to send instead
 */
export function onBodyEnd(response: Response, ended: () => void): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    ended();
    return response;
  }
  const reader = body.getReader();
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        controller.close();
      } catch (error) {
        ended();
        controller.error(error);
      }
    },
    async cancel(reason) {
      ended();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(watched, { status, statusText, headers });
}
