import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { EventScanner } from "./event_scanner.ts";
import { isEventStream } from "./limited_body.ts";
import { CONNECTION_CLOSED, PARSE_ERROR } from "./mcp_error.ts";
import { MessageTooLargeError } from "./message_limit.ts";

/** The MCP server does not know the session any more; it ran nothing of the request. */
export class SessionForgottenError extends Error {
  /** Always `"SessionForgottenError"`. */
  override readonly name = "SessionForgottenError";

  /** Says so. */
  constructor() {
    super("The MCP server forgot the session");
  }
}

/** The requests that wait for their answer. */
export interface PendingRequests {
  /** Whether one still waits. */
  has(id: number): boolean;
  /** Its answer has begun, and ends with the body of the HTTP answer. */
  answeredWhole(id: number): void;
}

/** How often the MCP SDK tries to go on with an answer that was cut. */
export const RESUME_ATTEMPTS = 2;
/** How many answers that were cut are remembered. */
const MOST_RESUMABLE = 1_000;

interface CutAnswer {
  readonly id: number;
  failures: number;
}

/**
 * Makes a `fetch` for Streamable HTTP after which no request waits for an answer that cannot come.
 *
 * The MCP SDK takes up an answer that was cut where its events had ids; without them, or when that
 * fails, the request would wait out its time. An error of its own ends it instead: written into
 * the stream, behind all that came before.
 *
 * @throws {SessionForgottenError} for a request that was answered with 404
 */
export function answeringFetch(
  fetch: FetchLike,
  pending: PendingRequests,
): FetchLike {
  const cuts = new Map<string, CutAnswer>();
  const ending = (response: Response, id: number): Response => {
    if (!response.body || !isEventStream(response)) return response;
    return new Response(
      endAnswer(response.body, id, pending, (eventId) => {
        cuts.set(eventId, { id, failures: 0 });
        const [oldest] = cuts.keys();
        if (cuts.size > MOST_RESUMABLE && oldest) cuts.delete(oldest);
      }),
      response,
    );
  };
  const resume = async (
    eventId: string,
    cut: CutAnswer,
    ...request: Parameters<FetchLike>
  ): Promise<Response> => {
    if (!pending.has(cut.id)) {
      cuts.delete(eventId);
      return new Response(null, { status: 405 }); // the SDK takes that for "no such stream"
    }
    const failed = () => {
      cuts.delete(eventId);
      return new Response(lastWords(cut.id), {
        headers: { "content-type": "text/event-stream" },
      });
    };
    let response: Response;
    try {
      response = await fetch(...request);
    } catch (error) {
      if (++cut.failures >= RESUME_ATTEMPTS) return failed();
      throw error;
    }
    if (response.ok) {
      cuts.delete(eventId);
      return ending(response, cut.id);
    }
    if (response.status < 500 || ++cut.failures >= RESUME_ATTEMPTS) {
      await response.body?.cancel();
      return failed();
    }
    return response;
  };
  return async (url, init = {}) => {
    const headers = new Headers(init.headers);
    const eventId = headers.get("last-event-id");
    const cut = eventId === null ? undefined : cuts.get(eventId);
    if (eventId !== null && cut) return await resume(eventId, cut, url, init);
    const response = await fetch(url, init);
    const id = requestIdOf(init);
    if (id === undefined) return response;
    if (response.status === 404 && headers.has("mcp-session-id")) {
      await response.body?.cancel();
      throw new SessionForgottenError();
    }
    if (response.ok && response.status !== 202 && !isEventStream(response)) {
      pending.answeredWhole(id);
    }
    return ending(response, id);
  };
}

/**
 * The id of the JSON-RPC request that is sent.
 *
 * As the MCP SDK writes it: the method first, the id, a number, last. Only what the ends of the
 * text say counts: parameters may hold anything.
 */
export function requestIdOf(
  { method, body }: RequestInit,
): number | undefined {
  if (method !== "POST" || typeof body !== "string") return undefined;
  if (!body.startsWith('{"method":')) return undefined;
  const [, id] = /"id":(\d+)\}$/.exec(body.slice(-40)) ?? [];
  return id === undefined ? undefined : Number(id);
}

/** Passes a stream of events on; where it ends and nothing can follow, with an error for the request. */
function endAnswer(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  id: number,
  pending: PendingRequests,
  resumable: (eventId: string) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const events = new EventScanner();
  /** What the stream ends with. */
  const end = (error?: unknown): Uint8Array<ArrayBuffer> | undefined => {
    const { lastId } = events;
    if (!pending.has(id)) return undefined;
    if (lastId !== undefined) resumable(lastId);
    const isTooLarge = error instanceof MessageTooLargeError;
    if (lastId !== undefined && !isTooLarge) return undefined;
    return lastWords(id, isTooLarge ? error : undefined);
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          events.push(value);
          return controller.enqueue(value);
        }
        const words = end();
        if (words) controller.enqueue(words);
        controller.close();
      } catch (error) {
        const words = end(error);
        if (!words) return controller.error(error);
        controller.enqueue(words);
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** An event that answers a request with an error; it first ends the one that was cut. */
function lastWords(
  id: number,
  tooLarge?: MessageTooLargeError,
): Uint8Array<ArrayBuffer> {
  const error = tooLarge
    ? { code: PARSE_ERROR, message: `The MCP server ${tooLarge.message}` }
    : { code: CONNECTION_CLOSED, message: "Connection closed" };
  const answer = JSON.stringify({ jsonrpc: "2.0", id, error });
  return new TextEncoder().encode(`\n\ndata: ${answer}\n\n`);
}
