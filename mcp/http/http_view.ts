import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpHttpHandler,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { refusal, RpcError, untilEnd, withPlainAccept } from "./guards.ts";
import type { EventRoom } from "./kept_events.ts";
import { keptAlive } from "./kept_alive.ts";
import { headerMismatch } from "../../protocol/mcp/param_headers.ts";
import type { Message } from "./session_transport.ts";
import { Sessions } from "./sessions.ts";
import { isTaskMethod, isTaskRequest, ownerOf } from "../tasks/extension.ts";
import {
  errorAnswer,
  listenForTasks,
  streamWithTasks,
  taskEvent,
} from "../tasks/task_listening.ts";
import { subscribeIn } from "../office/resources.ts";
import { createOfficeServer } from "../office/server.ts";
import type { ServerParts } from "../office/server_parts.ts";
import { subscribeListened } from "../resources/watches.ts";
import { messageOf } from "../tools/result.ts";
import type { NamesOf } from "../../shared/checks.ts";
import { parsePieces } from "../../shared/json/pieces.ts";
import { countValues } from "../../shared/json/values.ts";
import { inSlices } from "../../shared/pace.ts";

/** The most values of a body: a call's arguments for people and models have some hundred. */
const MAX_VALUES = 50_000;
/** The most messages of a body. */
export const MAX_BATCH = 100;

/** Who sends an HTTP request, as the HTTP server has authenticated it. */
export interface McpCaller {
  /** The name of its credentials; a session belongs to the one that opened it. */
  readonly principal?: string;
}

/** The names of {@linkcode McpCaller}. */
export const CALLER_NAMES = {
  principal: true,
} satisfies NamesOf<McpCaller>;

/**
 * One view of an office over HTTP: requests of 2026-07-28 each for itself, and those of clients before
 * it in sessions.
 */
export class HttpView {
  readonly #parts: ServerParts;
  readonly #modern: McpHttpHandler;
  readonly #sessions: Sessions;
  readonly #offs: readonly (() => void)[];

  /** @param room for what the streams of sessions have sent */
  constructor(parts: ServerParts, room: EventRoom) {
    this.#parts = parts;
    // Its own serving of 2025 has no streams, so that its clients are never notified.
    this.#modern = createMcpHandler(({ requestInfo }) => {
      const method = requestInfo?.headers.get("mcp-method");
      const purpose = isTaskMethod(method) ? "task" : "2026";
      return createOfficeServer(parts, purpose);
    }, {
      legacy: "reject",
      maxRequestBodySize: parts.options.maxBodyBytes,
    });
    this.#sessions = new Sessions(parts, room);
    this.#offs = [
      parts.view.onChange((event) => {
        this.#modern.bus.publish(event);
        this.#sessions.notify(event);
      }),
      parts.tasks.onChange((task) => {
        this.#modern.bus.publish(taskEvent(task));
      }),
    ];
  }

  /** Whether clients before 2026 have sessions here. */
  get hasSessions(): boolean {
    return this.#sessions.size > 0;
  }

  /** Answers one request, whose headers are checked. */
  async serve(request: Request, caller: McpCaller): Promise<Response> {
    const { options, view } = this.#parts;
    const body = await readBody(request, options.maxBodyBytes);
    if (body instanceof Response) return body;
    try {
      const needsAgent = request.method !== "DELETE" &&
        !isTaskRequest(body.json);
      if (needsAgent) await view.ready();
    } catch (error) {
      return refusal(503, messageOf(error));
    }
    const auth = toAuthInfo(caller);
    const message: Message = { parsedBody: body.json, ...auth };
    if (await isLegacyRequest(request, body.json)) {
      return await this.#sessions.serve(withPlainAccept(request), message);
    }
    const refused = refuseHeaders(request.headers, body.json, this.#parts);
    if (refused) return refused;
    const end = subscribeListened(body.json, subscribeIn(this.#parts));
    const answer = () =>
      keptAlive(
        request,
        (request) => this.#answer(request, message),
        options.heartbeatMs,
      );
    return end ? await untilEnd(answer, end) : await answer();
  }

  /** Answers a request of 2026-07-28; a stream for tasks has their notifications. */
  async #answer(request: Request, message: Message): Promise<Response> {
    const { tasks } = this.#parts;
    const owner = ownerOf(message.authInfo);
    let listen: unknown;
    try {
      listen = listenForTasks(message.parsedBody, tasks, owner);
    } catch (error) {
      return Response.json(errorAnswer(message.parsedBody, error), {
        status: 400,
      });
    }
    if (!listen) return await this.#modern.fetch(request, message);
    const asked = { ...message, parsedBody: listen };
    const response = await this.#modern.fetch(request, asked);
    const { body, status, headers } = response;
    if (status !== 200 || body === null) return response;
    return new Response(streamWithTasks(body, tasks), { status, headers });
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    for (const off of this.#offs) off();
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }
}

/** What the MCP SDK hands through to handlers; it holds no token, since none is checked here. */
export const toAuthInfo = (
  { principal }: McpCaller,
): Pick<Message, "authInfo"> =>
  principal === undefined
    ? {}
    : { authInfo: { token: "", clientId: principal, scopes: [] } };

/** Refuses a call whose headers differ from the arguments that they repeat; other headers are for the MCP SDK. */
function refuseHeaders(
  headers: Headers,
  body: unknown,
  { options, view }: ServerParts,
): Response | undefined {
  const { method, id, params } = Object(body);
  if (method !== "tools/call" || options.tools === "search") return undefined;
  const found = view.catalogue.find(`${Object(params).name}`);
  if (found?.kind !== "offered") return undefined;
  const { inputSchema } = found.shown;
  const problem = headerMismatch(inputSchema, params.arguments, headers);
  return problem === undefined
    ? undefined
    : refusal(400, problem, RpcError.HEADER_MISMATCH, id ?? null);
}

/** Reads a body once, for both eras; a refusal where that cannot be. */
export async function readBody(
  request: Request,
  maxBytes: number,
  maxValues = MAX_VALUES,
): Promise<{ json?: unknown } | Response> {
  if (request.method !== "POST") return {};
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refusal(415, "Content-Type must be application/json");
  }
  const body = await readRequestBody(request, maxBytes)
    .catch(() => undefined); // its client is gone, which is no failure here
  if (body === undefined) return refusal(400, "The request ended early");
  if (body.tooLarge) {
    return refusal(413, `The body is too large: at most ${maxBytes} bytes`);
  }
  if (countValues(body.text, maxValues) > maxValues) {
    return refusal(
      413,
      `The body has too many values in lists and objects: at most ${maxValues} are allowed; send less at once, or long data as one text`,
    );
  }
  let json: unknown;
  try {
    json = await inSlices(parsePieces(body.text));
  } catch {
    return refusal(400, "The body is no valid JSON", RpcError.PARSE);
  }
  if (Array.isArray(json) && json.length > MAX_BATCH) {
    return refusal(
      413,
      `The body has too many messages: ${json.length}, and at most ${MAX_BATCH} are allowed`,
    );
  }
  return { json };
}
