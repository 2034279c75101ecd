/**
 * Clients of MCP 2026-07-28 that support tasks, and an office whose tools take their time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import {
  type JsonValue,
  toJsonValue,
} from "@modelcontextprotocol/ext-tasks/core";
import { mcpGateway, type McpGatewayOptions } from "../../../mcp/mod.ts";
import type { ToolCallReq } from "../../../protocol/mod.ts";
import type { Authenticator } from "../../../server/mod.ts";
import { type Office, startOffice } from "../office.ts";
import { clientV2, transportV2 } from "./clients.ts";
import { GATEWAY_KEYS } from "./gateway.ts";
import { JSON_HEADERS } from "./post.ts";

/** The extension, as clients declare it. */
export const TASKS = { "io.modelcontextprotocol/tasks": {} };

/** What a client declares that supports tasks, and can be asked. */
const CAPABILITIES = { elicitation: { form: {} }, extensions: TASKS };

/** A task, as the office describes it. */
export interface SeenTask {
  readonly taskId: string;
  readonly resultType: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly inputRequests?: Record<string, { readonly method: string }>;
  readonly result?: {
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

/** An answer of JSON-RPC, with what tests read of it. */
export interface ModernAnswer {
  readonly result: SeenTask;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: JsonValue;
  };
}

/** Where a request goes, and who sends it. */
interface Asking {
  readonly url: string | URL;
  readonly fetch?: (url: URL, init: RequestInit) => Promise<Response>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the client declares; default that it supports tasks, and can be asked. */
  readonly capabilities?: object;
  readonly signal?: AbortSignal;
}

/** Sends one request of 2026-07-28. */
export function sendModern(
  { url, fetch: send = fetch, headers = {}, capabilities, signal }: Asking,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
): Promise<Response> {
  const name = params.taskId ?? params.name ?? params.uri;
  return send(new URL(url), {
    method: "POST",
    headers: {
      ...JSON_HEADERS,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          ...Object(params._meta),
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": capabilities ??
            CAPABILITIES,
          "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        },
      },
    }),
    ...(signal && { signal }),
  });
}

/** Sends one, and returns the last message of the answer: its result or error. */
export async function askModern(
  asking: Asking,
  method: string,
  params?: Readonly<Record<string, unknown>>,
): Promise<ModernAnswer> {
  const response = await sendModern(asking, method, params);
  const text = await response.text();
  const isStream = response.headers.get("content-type")
    ?.startsWith("text/event-stream");
  return isStream ? messagesIn(text).at(-1) : JSON.parse(text);
}

/** The messages of a stream. */
const messagesIn = (text: string) =>
  [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) =>
    JSON.parse(data ?? "")
  );

/** Reads the messages of a stream as they come. */
export async function* messagesOf(response: Response) {
  if (response.body === null) return;
  let text = "";
  for await (
    const piece of response.body.pipeThrough(new TextDecoderStream())
  ) {
    const events = (text + piece).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) yield* messagesIn(event);
  }
}

/** A client of tasks, by the requests that it makes. */
export class TaskClient {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** Calls a tool; returns the task that the call has become. */
  async begin(
    name: string,
    args: Record<string, unknown> = {},
  ): Promise<SeenTask> {
    const params = { name, arguments: args };
    const { result } = await askModern(this.#asking, "tools/call", params);
    return result;
  }

  /** Asks for a task: its description, or the error. */
  async get(taskId: string): Promise<SeenTask> {
    return (await this.tried("tasks/get", { taskId })).result;
  }

  /** Sends a request; returns the whole answer. */
  tried(
    method: string,
    params: Record<string, unknown>,
  ): Promise<ModernAnswer> {
    return askModern(this.#asking, method, params);
  }

  /** Cancels a task. */
  async cancel(taskId: string): Promise<void> {
    const { result } = await this.tried("tasks/cancel", { taskId });
    assertEquals(bare(result), { resultType: "complete" });
  }

  /** Answers questions of a task. */
  async answer(
    taskId: string,
    inputResponses: Record<string, unknown>,
  ): Promise<void> {
    const params = { taskId, inputResponses };
    const { result } = await this.tried("tasks/update", params);
    assertEquals(bare(result), { resultType: "complete" });
  }

  /** Listens to tasks: the messages of the stream. */
  async listen(taskIds: readonly string[], more: object = {}) {
    const notifications = { taskIds, ...more };
    const response = await sendModern(
      this.#asking,
      "subscriptions/listen",
      { notifications },
    );
    return messagesOf(response);
  }

  /** Waits for the notification that a task has a status. */
  async reaches(taskId: string, status: string): Promise<SeenTask> {
    for await (const { method, params } of await this.listen([taskId])) {
      if (method === "notifications/tasks" && params.status === status) {
        return params;
      }
    }
    throw new Error(`The stream has ended before ${status}`);
  }
}

/** A result without what every answer has. */
const bare = ({ ...result }: Record<string, unknown> | SeenTask) =>
  Object.fromEntries(
    Object.entries(result).filter(([name]) => name !== "_meta"),
  );

/** Connects the MCP SDK's client, with the extension's own package for its calls. */
export async function taskSession(
  url: URL,
  person?: (message: string) => Record<string, string>,
) {
  const client = clientV2("2026");
  await client.connect(transportV2({ url }));
  const clientInfo = { name: "test", version: "1.0.0" };
  const session = createTaskSessionFromClient(client, {
    endpointId: url.href,
    rawDispatch: async (request) => {
      const { method, params } = Object(request);
      const capabilities =
        params._meta["io.modelcontextprotocol/clientCapabilities"];
      const answer = await askModern({ url, capabilities }, method, params);
      return answer.error
        ? { kind: "error", error: answer.error }
        : { kind: "result", result: toJsonValue(answer.result) };
    },
    v2RequestFraming: {
      protocolVersion: "2026-07-28",
      clientInfo,
      clientCapabilities: CAPABILITIES,
    },
    ...(person && {
      onInputRequest: (request) => {
        const message = String(request.params?.message);
        const answer = { action: "accept", content: person(message) };
        return Promise.resolve(answer as never);
      },
    }),
  });
  return {
    session,
    async [Symbol.asyncDispose]() {
      await session.close();
      await client.close();
    },
  };
}

/** An office whose Computer "pc" has tools that end when the test lets them. */
export interface SlowOffice extends AsyncDisposable {
  readonly office: Office;
  readonly url: URL;
  /** Resolves with the tools of calls that were cancelled at the Computer, once there are so many. */
  cancels(count: number): Promise<readonly string[]>;
  /** Resolves once a client has sent a request of 2026-07-28. */
  asked(method: string): Promise<void>;
  /** Resolves once a tool was called so often. */
  began(tool: string, count?: number): Promise<void>;
  /** Reports progress of the last call. */
  progress(progress: Readonly<Record<string, unknown>>): void;
  /** Ends the oldest call of a tool. */
  release(tool: string): void;
}

/** Starts it, behind a Server with MCP. */
export async function startSlowOffice(
  { authenticator, gateway }: {
    /** Admits the holders of {@linkcode GATEWAY_KEYS} at least. */
    readonly authenticator?: Authenticator;
    readonly gateway?: McpGatewayOptions;
  } = {},
): Promise<SlowOffice> {
  const auth = (api_key: string) => authenticator ? { auth: { api_key } } : {};
  const methods: (string | null)[] = [];
  let asked = Promise.withResolvers<void>();
  const makeGateway = mcpGateway(gateway);
  const office = await startOffice({
    agent: auth(GATEWAY_KEYS.ann),
    server: {
      gateway: (host) => {
        const made = makeGateway(host);
        const handle = made.handle.bind(made);
        made.handle = (request, ...more) => {
          methods.push(request.headers.get("mcp-method"));
          asked.resolve();
          asked = Promise.withResolvers();
          return handle(request, ...more);
        };
        return made;
      },
      ...(authenticator && { authenticator }),
    },
  });
  await office.agent.leave();
  const calls: { tool: string; reqId: string; end: () => void }[] = [];
  const counts = new Map<string, number>();
  const cancelled: string[] = [];
  let called = Promise.withResolvers<void>();
  const pc = await office.addScriptedComputer("pc", (event, payload) => {
    if (event === "client:get_tools") {
      return { tools: ["slow", "confirm", "ask"].map(toolNamed), req_id: "1" };
    }
    if (event !== "client:tool_call") return { inputs: null, servers: {} };
    const call = payload as ToolCallReq;
    const { tool_name: tool, req_id: reqId, input_responses } = call;
    return new Promise((resolve) => {
      const text = input_responses
        ? JSON.stringify(input_responses)
        : `${tool} is done`;
      const content = [{ type: "text", text }];
      calls.push({ tool, reqId, end: () => resolve({ content }) });
      counts.set(tool, (counts.get(tool) ?? 0) + 1);
      if (tool !== "slow") report({ progress: 0, waiting: "confirmation" });
      if (tool === "ask" && !input_responses) resolve(QUESTIONS);
      called.resolve();
      called = Promise.withResolvers();
    });
  }, auth(GATEWAY_KEYS.computer));
  const report = (progress: object) => {
    const { reqId } = calls.at(-1) ?? {};
    pc.send("server:tool_call_progress", {
      computer: "pc",
      agent: "mcp",
      req_id: reqId,
      progress: 0,
      ...progress,
    });
  };
  pc.on("notification", ({ event, payload }) => {
    if (event !== "notify:tool_call_cancel") return;
    const at = calls.findIndex(({ reqId }) => reqId === payload.req_id);
    const [call] = at < 0 ? [] : calls.splice(at, 1);
    if (call) cancelled.push(call.tool);
    call?.end();
    called.resolve();
    called = Promise.withResolvers();
  });
  return {
    office,
    url: new URL("/mcp/north", office.url),
    async cancels(count) {
      while (cancelled.length < count) await called.promise;
      return cancelled;
    },
    async asked(method) {
      while (!methods.includes(method)) await asked.promise;
    },
    async began(tool, count = 1) {
      while ((counts.get(tool) ?? 0) < count) await called.promise;
    },
    progress: report,
    release(tool) {
      const at = calls.findIndex((call) => call.tool === tool);
      calls.splice(at, 1)[0]?.end();
    },
    [Symbol.asyncDispose]: () => office.close(),
  };
}

const question = (message: string) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});

/** What the tool `ask` answers first; what follows ends when the test lets it. */
const QUESTIONS = {
  content: [],
  resultType: "input_required",
  inputRequests: { first: question("First?"), second: question("Second?") },
  requestState: "asked",
};

const toolNamed = (name: string) => ({
  name,
  description: "",
  params_schema: { type: "object" },
  return_schema: null,
});
