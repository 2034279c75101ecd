/**
 * MCP clients of both SDKs and both revisions, over HTTP, in process, and with a child process.
 *
 * @module
 */
import {
  Client as ClientV2,
  type FetchLike,
  type JSONRPCMessage,
  StreamableHTTPClientTransport as HttpV2,
  type Tool,
  type Transport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Transport as TransportV1 } from "@modelcontextprotocol/sdk/shared/transport";
import { assertEquals } from "@std/assert";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ElicitResult } from "../../../protocol/mod.ts";

/** What a client reads of a result. */
export interface SeenResult {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** How a client makes a request. */
interface Asking {
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly resetTimeoutOnProgress?: boolean;
  readonly onprogress?: (
    progress: { progress: number; message?: string | undefined },
  ) => void;
}

/** A client of MCP, whichever library and revision. */
export interface TestClient extends AsyncDisposable {
  readonly instructions: string | undefined;
  tools(): Promise<Tool[]>;
  call(
    name: string,
    args?: Record<string, unknown>,
    asking?: Asking,
  ): Promise<SeenResult>;
  /** How often the client was notified that the tools changed. */
  changes(): number;
  /** Resolves when the client was notified so often that the tools changed. */
  changed(count: number): Promise<void>;
  /** Resolves once notifications of changes reach the client. */
  listening(): Promise<void>;
  /** Ends the session, where there is one: `close` does not. */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

/** A program that is an MCP server. */
export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Called when it runs, with the function that sends it a signal. */
  readonly started?: (signal: (name: "SIGKILL" | "SIGTERM") => void) => void;
}

/** How to reach the server: over HTTP, in process, or as a child process. */
export type Reach =
  | { readonly url: URL; readonly fetch?: FetchLike }
  | ChildCommand;

/** Answers forms of servers; a client without it does not support them. */
type TestPerson = (message: string) => ElicitResult;

/** The revisions with and without sessions. */
export type Era = "2025" | "2026";
export const ERAS: readonly Era[] = ["2025", "2026"];

/** The clients that every promise is tested with. */
export const CLIENTS: Readonly<
  Record<string, (reach: Reach, person?: TestPerson) => Promise<TestClient>>
> = {
  "v1, 2025": connectV1,
  "v2, 2025": (reach, person) => connectV2(reach, "2025", person),
  "v2, 2026": (reach, person) => connectV2(reach, "2026", person),
};

const INFO = { name: "test", version: "1.0.0" };

const capabilities = (person: TestPerson | undefined) =>
  person ? { elicitation: { form: {}, url: {} } } : {};

/** Connects with the SDK that the Computer uses. */
export async function connectV1(
  reach: Reach,
  person?: TestPerson,
): Promise<TestClient> {
  const notices = new Notices();
  const client = new ClientV1(INFO, {
    capabilities: capabilities(person),
    listChanged: notices.ofTools,
  });
  if (person) {
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => ({ ...person(params.message) }),
    );
  }
  const transport = "url" in reach
    ? new HttpV1(reach.url, { fetch: notices.watching(reach.fetch) })
    : new ChildTransport(reach);
  await client.connect(transport as TransportV1);
  return testClient(
    Object.assign(notices, { client, transport }),
    (name, args = {}, asking = {}) =>
      client.callTool({ name, arguments: args }, undefined, asking),
  );
}

async function connectV2(
  reach: Reach,
  era: Era,
  person?: TestPerson,
): Promise<TestClient> {
  const notices = new Notices();
  const client = clientV2(era, person, { listChanged: notices.ofTools });
  const transport = transportV2(reach, notices);
  await client.connect(transport as TransportV2);
  return testClient(
    Object.assign(notices, { client, transport }),
    (name, args = {}, asking = {}) =>
      client.callTool({ name, arguments: args }, asking),
  );
}

export function clientV2(
  era: Era,
  person?: TestPerson,
  options: ConstructorParameters<typeof ClientV2>[1] = {},
): ClientV2 {
  const mode = era === "2025" ? "legacy" : { pin: "2026-07-28" };
  const client = new ClientV2(INFO, {
    versionNegotiation: { mode },
    capabilities: capabilities(person),
    ...options,
  });
  if (person) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const { action, content } = person(params.message);
      return { action, ...(content && { content }) };
    });
  }
  return client;
}

export const transportV2 = (reach: Reach, notices = new Notices()) =>
  "url" in reach
    ? new HttpV2(reach.url, { fetch: notices.watching(reach.fetch) })
    : new ChildTransport(reach);

/** A connection of one of the SDKs. */
type Connected = Notices & {
  readonly client: Pick<ClientV2, "getInstructions" | "close"> & {
    listTools(): Promise<{ tools: unknown[] }>;
  };
  readonly transport: Connection;
};

type Connection = ChildTransport | Pick<HttpV2, "sessionId">;

/**
 * Closes a client, and ends its session: while it is open, it would open the streams again that end with
 * the session.
 */
async function endSession(
  client: { close(): Promise<void> },
  transport: Connection,
  send: (init: RequestInit) => Promise<Response> | undefined,
): Promise<void> {
  const session = "sessionId" in transport ? transport.sessionId : undefined;
  await client.close();
  if (session === undefined) return;
  const headers = { "mcp-session-id": session };
  const response = await send({ method: "DELETE", headers });
  await response?.text();
}

const testClient = (
  { client, transport, ...notices }: Connected,
  call: (...args: Parameters<TestClient["call"]>) => Promise<unknown>,
): TestClient => ({
  instructions: client.getInstructions(),
  tools: async () => (await client.listTools()).tools as Tool[],
  call: async (...args) => await call(...args) as SeenResult,
  changes: () => notices.count("tools"),
  changed: (count) => notices.told("tools", count),
  listening: async () => {
    if (!(transport instanceof ChildTransport)) await notices.listening.promise;
  },
  terminate: () => endSession(client, transport, notices.send),
  close: () => client.close(),
  [Symbol.asyncDispose]: () => client.close(),
});

/** The newest SDK's own client, with its notifications of resources and prompts. */
export type SdkClient = ClientV2 & AsyncDisposable & {
  /** The URIs of changed resources, and `resources` and `prompts` for changed lists. */
  readonly notices: readonly string[];
  /** Resolves when a notice has come so often. */
  told(notice: string, count?: number): Promise<void>;
  /** Subscribes to resources, and to changes of the lists. */
  watch(...uris: string[]): Promise<void>;
};

/** Connects it; in 2025 notifications reach it from then on. */
export async function sdkClient(
  reach: Reach,
  era: Era,
  person?: TestPerson,
): Promise<SdkClient> {
  const notices = new Notices();
  const client = clientV2(era, person);
  client.setNotificationHandler(
    "notifications/resources/updated",
    ({ params: { uri } }) => notices.add(uri),
  );
  for (const list of ["resources", "prompts"] as const) {
    client.setNotificationHandler(
      `notifications/${list}/list_changed`,
      () => notices.add(list),
    );
  }
  const transport = transportV2(reach, notices);
  await client.connect(transport as TransportV2);
  if (era === "2025" && "url" in reach) await notices.listening.promise;
  return Object.assign(client, {
    notices: notices.all,
    told: (notice: string, count = 1) => notices.told(notice, count),
    async watch(...uris: string[]) {
      if (era === "2026") {
        await client.listen({
          resourceSubscriptions: uris,
          resourcesListChanged: true,
          promptsListChanged: true,
        });
      } else {
        for (const uri of uris) await client.subscribeResource({ uri });
      }
    },
    [Symbol.asyncDispose]: () => endSession(client, transport, notices.send),
  });
}

/** The notifications to a client, and whether they can reach it. */
class Notices {
  readonly all: string[] = [];
  /** Sends a request where the last one of the client went. */
  send: (init: RequestInit) => Promise<Response> | undefined = () => undefined;
  readonly listening = Promise.withResolvers<void>();
  #next = Promise.withResolvers<void>();

  readonly ofTools = {
    tools: {
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => this.add("tools"),
    },
  };

  readonly add = (notice: string) => {
    this.all.push(notice);
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  };

  readonly count = (notice: string) =>
    this.all.filter((each) => each === notice).length;

  readonly told = async (notice: string, count: number) => {
    while (this.count(notice) < count) await this.#next.promise;
  };

  /** A `fetch` that notices the stream on which a client listens. */
  readonly watching = (inner?: FetchLike): FetchLike => async (url, init) => {
    this.send = (init) => (inner ?? fetch)(url, init);
    const response = await endingFetch(inner)(url, init);
    const isStream = init?.method === "GET" ||
      String(init?.body).includes('"subscriptions/listen"');
    if (isStream && response.ok) this.listening.resolve();
    return response;
  };
}

/**
 * Wraps `fetch` so that an abort ends a body as well: Deno's own forgets the signal once the response
 * is garbage-collected, and a client that is closed would go on to read.
 */
export const endingFetch =
  (inner: FetchLike = fetch): FetchLike => async (url, init) => {
    const response = await inner(url, init);
    if (response.body === null || !init?.signal) return response;
    const ending = response.body.pipeThrough(new TransformStream(), {
      signal: init.signal,
    });
    return new Response(ending, response);
  };

/**
 * MCP over stdio with a child process. Unlike those of the SDKs it waits until the child has ended by
 * itself, and leaves no timer behind.
 */
export class ChildTransport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #options: ChildCommand;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;

  constructor(options: ChildCommand) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { command, args, cwd, env, started } = this.#options;
    const child = this.#child = spawn(command, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...Deno.env.toObject(), ...env },
      ...(cwd !== undefined && { cwd }),
    });
    createInterface(child.stdout).on("line", (line) => {
      this.onmessage?.(JSON.parse(line));
    });
    child.stdin.on("error", () => {}); // it was killed
    started?.((name) => child.kill(name));
    child.on("error", (error) => this.onerror?.(error));
    child.on("exit", () => this.onclose?.());
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#child?.stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  /** Ends the child's stdin, and two seconds later the child, as the MCP SDKs do. */
  async close(): Promise<void> {
    const child = this.#child;
    const hasEnded = child?.exitCode !== null || child.signalCode !== null;
    if (child === undefined || hasEnded) return;
    const ended = once(child, "close");
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGTERM"), 2_000);
    await ended;
    clearTimeout(timer);
  }
}

/** Waits until the fixture's call of `slow` was aborted; a call that ran on fails here. */
export async function isCancelled(
  asked: Promise<{ readonly content: readonly object[] }>,
): Promise<void> {
  const { content } = await asked;
  assertEquals(content, [{ type: "text", text: "it was aborted" }]);
}
