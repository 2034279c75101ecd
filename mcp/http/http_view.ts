import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  SERVER_INFO_META_KEY,
} from "@modelcontextprotocol/server";
import type { IncomingHttpHeaders } from "node:http";
import { readBody } from "./body.ts";
import {
  type McpCaller,
  type Message,
  ownerOf,
  toAuthInfo,
} from "../caller.ts";
import { refusal, RpcError, untilEnd, withPlainAccept } from "./guards.ts";
import type { EventRoom } from "./kept_events.ts";
import { keptAlive } from "./kept_alive.ts";
import { headerMismatch } from "../../protocol/mcp/param_headers.ts";
import type { SmcpAgent } from "../../agent/mod.ts";
import { QuickAnswers } from "./quick_answer.ts";
import {
  areOfSession,
  type LoneCall,
  readLoneCall,
  readQuickMessage,
} from "./quick_message.ts";
import { type Caller, RunningAnswers } from "./running_answers.ts";
import { Sessions } from "./sessions.ts";
import { isTaskMethod, isTaskRequest } from "../tasks/extension.ts";
import {
  errorAnswer,
  listenForTasks,
  streamWithTasks,
  taskEvent,
} from "../tasks/task_listening.ts";
import { subscribeIn } from "../office/resources.ts";
import { createOfficeServer, OFFICE_INFO } from "../office/server.ts";
import type { ServerParts } from "../office/server_parts.ts";
import { subscribeListened } from "../resources/watches.ts";
import { messageOf } from "../tools/result.ts";
import type { GatewayBody, GatewayPost } from "../../shared/gateway.ts";

/**
 * One view of an office over HTTP: requests of 2026-07-28 each for itself, and those of clients before
 * it in sessions.
 */
export class HttpView {
  readonly #parts: ServerParts;
  readonly #modern: McpHttpHandler;
  readonly #sessions: Sessions;
  /** Calls past the MCP SDK, of clients without a session. */
  readonly #running: RunningAnswers;
  readonly #answers: QuickAnswers;
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
    this.#answers = new QuickAnswers(parts.options.heartbeatMs);
    this.#sessions = new Sessions(parts, this.#answers, room);
    this.#running = new RunningAnswers(parts, encoded);
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

  /**
   * Answers a POST, whose body was parsed, past `Request`, `Response` and the MCP SDK, where nothing is unusual
   * about it.
   *
   * @returns whether it does
   */
  async answer(
    { headers, outgoing }: Pick<GatewayPost, "headers" | "outgoing">,
    json: unknown,
    { principal }: McpCaller,
  ): Promise<boolean> {
    const isOfSession = areOfSession(headers);
    const message = isOfSession ? readQuickMessage(json) : undefined;
    const call = isOfSession ? undefined : readLoneCall(json, headers);
    if (message === undefined && call === undefined) return false;
    let agent: SmcpAgent;
    try {
      agent = await this.#parts.view.ready();
    } catch {
      return false;
    }
    const caller = { agent, principal };
    if (message) {
      return this.#sessions.answer({ headers, outgoing, message }, caller);
    }
    return call !== undefined &&
      this.#call({ headers, outgoing }, call, caller);
  }

  /** Answers a call without a session, if its headers repeat its arguments; returns whether it does. */
  #call(
    { headers, outgoing }: Pick<GatewayPost, "headers" | "outgoing">,
    message: LoneCall,
    caller: Caller,
  ): boolean {
    const repeated = { get: (name: string) => headerOf(headers, name) };
    if (refuseHeaders(repeated, message.json, this.#parts)) return false;
    const more = { parsedBody: message.json, ...toAuthInfo(caller.principal) };
    this.#running.run({
      message,
      headers,
      client: { ...message.client, ...caller },
      answer: this.#answers.begin(outgoing, message.id, {}),
      inSession: false,
      serve: (request) => this.#modern.fetch(request, more),
    });
    return true;
  }

  /**
   * Answers one request, whose headers are checked.
   *
   * @param read its body, where that was read
   */
  async serve(
    request: Request,
    caller: McpCaller,
    read?: GatewayBody,
  ): Promise<Response> {
    const { options, view } = this.#parts;
    const body = read ?? await readBody(request, options.maxBodyBytes);
    if (body instanceof Response) return body;
    try {
      const needsAgent = request.method !== "DELETE" &&
        !isTaskRequest(body.json);
      if (needsAgent) await view.ready();
    } catch (error) {
      return refusal(503, messageOf(error));
    }
    const auth = toAuthInfo(caller.principal);
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

  /** Ends the sessions of a client. */
  forget({ principal }: McpCaller): void {
    this.#sessions.forget(principal);
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    for (const off of this.#offs) off();
    this.#running.cancelAll("The MCP server is closed");
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
    this.#answers.close();
  }
}

/** Makes of a result what the MCP SDK sends of it (MCP 2026-07-28). */
const encoded = (result: CallToolResult): object => ({
  ...result,
  resultType: "complete",
  _meta: { ...result._meta, [SERVER_INFO_META_KEY]: OFFICE_INFO },
});

function headerOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name.toLowerCase()];
  return value === undefined ? null : String(value);
}

/** Refuses a call whose headers differ from the arguments that they repeat; other headers are for the MCP SDK. */
function refuseHeaders(
  headers: Pick<Headers, "get">,
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
