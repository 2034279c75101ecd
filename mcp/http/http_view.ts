import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  type ListToolsResult,
  type McpHttpHandler,
  SERVER_INFO_META_KEY,
} from "@modelcontextprotocol/server";
import type { IncomingHttpHeaders } from "node:http";
import { readBody } from "./body.ts";
import { type McpCaller, type Message, toAuthInfo } from "../caller.ts";
import { refusal, RpcError, untilEnd, withPlainAccept } from "./guards.ts";
import type { EventRoom } from "./kept_events.ts";
import { keptAlive } from "./kept_alive.ts";
import { headerMismatch } from "../../protocol/mcp/param_headers.ts";
import type { OfficeAgent } from "../office_agent.ts";
import { QuickAnswers } from "./quick_answer.ts";
import {
  areOfSession,
  type LoneRequest,
  readLoneRequest,
  readQuickMessage,
} from "./quick_message.ts";
import { RunningAnswers, type Sender } from "./running_answers.ts";
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
import {
  type GatewayBody,
  type GatewayPost,
  ownerOf,
} from "../../shared/gateway.ts";

/**
 * One view of an office over HTTP: requests of 2026-07-28 each for itself, and those of clients before
 * it in sessions.
 */
export class HttpView {
  readonly #parts: ServerParts;
  readonly #modern: McpHttpHandler;
  readonly #sessions: Sessions;
  /** Answers past the MCP SDK, to clients without a session. */
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
    this.#running = new RunningAnswers(parts, added);
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
    caller: McpCaller,
  ): Promise<boolean> {
    const isOfSession = areOfSession(headers);
    const message = isOfSession ? readQuickMessage(json) : undefined;
    const lone = isOfSession ? undefined : readLoneRequest(json, headers);
    if (message === undefined && lone === undefined) return false;
    let agent: OfficeAgent;
    try {
      agent = await this.#parts.view.ready();
    } catch {
      return false;
    }
    const sender = { agent, caller };
    if (message) {
      return this.#sessions.answer({ headers, outgoing, message }, sender);
    }
    return lone !== undefined &&
      this.#lone({ headers, outgoing }, lone, sender);
  }

  /** Answers a request without a session, if its headers repeat its arguments; returns whether it does. */
  #lone(
    { headers, outgoing }: Pick<GatewayPost, "headers" | "outgoing">,
    message: LoneRequest,
    sender: Sender,
  ): boolean {
    const repeated = { get: (name: string) => headerOf(headers, name) };
    if (refuseHeaders(repeated, message.json, this.#parts)) return false;
    const more = { parsedBody: message.json, ...toAuthInfo(sender.caller) };
    this.#running.run({
      message,
      headers,
      client: { ...message.client, ...sender },
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
      // To a program that has just signed in, all but 200 would mean that its token is refused.
      if (!caller.grant) return refusal(503, messageOf(error));
    }
    const message: Message = { parsedBody: body.json, ...toAuthInfo(caller) };
    if (await isLegacyRequest(request, body.json)) {
      return await this.#sessions.serve(withPlainAccept(request), message);
    }
    const refused = refuseHeaders(request.headers, body.json, this.#parts);
    if (refused) return refused;
    const end = subscribeListened(body.json, subscribeIn(this.#parts));
    const answer = () =>
      keptAlive(
        request,
        (request) => this.#answer(request, message, ownerOf(caller)),
        options.heartbeatMs,
      );
    return end ? await untilEnd(answer, end) : await answer();
  }

  /** Answers a request of 2026-07-28; a stream for tasks has their notifications. */
  async #answer(
    request: Request,
    message: Message,
    owner: string,
  ): Promise<Response> {
    const { tasks } = this.#parts;
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
  forget(caller: McpCaller): void {
    this.#sessions.forget(ownerOf(caller));
  }

  /** Cancels all that runs, and ends all streams and sessions. */
  async close(): Promise<void> {
    for (const off of this.#offs) off();
    this.#running.cancelAll("The MCP server is closed");
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
    this.#answers.close();
  }
}

/** Returns what the MCP SDK adds to a result (MCP 2026-07-28). */
const added = (result: CallToolResult | ListToolsResult): object => ({
  ...("tools" in result && { ttlMs: 0, cacheScope: "private" }),
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
