import {
  Client as ClientV2,
  type FetchLike,
  StreamableHTTPClientTransport as HttpV2,
  type Transport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Transport as TransportV1 } from "@modelcontextprotocol/sdk/shared/transport";
import type { ElicitResult } from "../../../protocol/mod.ts";
import { type ChildCommand, ChildTransport } from "./child_transport.ts";
import { endingFetch } from "./http_transport.ts";

/** What a client reads of a tool. */
export interface SeenTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
  readonly icons?: unknown;
  readonly _meta?: unknown;
}

/** What a client reads of a result. */
export interface SeenResult {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** How a client makes a request. */
export interface Asking {
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
  tools(): Promise<SeenTool[]>;
  call(
    name: string,
    args?: Record<string, unknown>,
    asking?: Asking,
  ): Promise<SeenResult>;
  /** How often the server told that its tools changed. */
  changes(): number;
  /** Resolves when the server has told so often that its tools changed. */
  changed(count: number): Promise<void>;
  /** Resolves once the client would be told of changes. */
  listening(): Promise<void>;
  /** Ends the session, where there is one: `close` does not. */
  terminate(): Promise<void>;
  close(): Promise<void>;
}

/** How to reach the server: over HTTP, in process, or as a child process. */
export type Reach =
  | { readonly url: URL; readonly fetch?: FetchLike }
  | ChildCommand;

/** Answers the forms that servers ask for; a client with none says that it cannot be asked. */
export type TestPerson = (message: string) => ElicitResult;

/** The clients that every promise is tested with. */
export const CLIENTS: Readonly<
  Record<string, (reach: Reach, person?: TestPerson) => Promise<TestClient>>
> = {
  "v1, 2025": connectV1,
  "v2, 2025": (reach, person) => connectV2(reach, "legacy", person),
  "v2, 2026": (reach, person) =>
    connectV2(reach, { pin: "2026-07-28" }, person),
};

const capabilities = (person: TestPerson | undefined) =>
  person ? { elicitation: { form: {} } } : {};

const INFO = { name: "test", version: "1.0.0" };

/** Connects with the SDK that the Computer uses. */
export async function connectV1(
  reach: Reach,
  person?: TestPerson,
): Promise<TestClient> {
  const observed = new Observed();
  const client = new ClientV1(INFO, {
    capabilities: capabilities(person),
    listChanged: observed.handlers,
  });
  if (person) {
    client.setRequestHandler(
      ElicitRequestSchema,
      ({ params }) => ({ ...person(params.message) }),
    );
  }
  const transport = "url" in reach
    ? new HttpV1(reach.url, { fetch: observed.watching(reach.fetch) })
    : new ChildTransport(reach);
  await client.connect(transport as TransportV1);
  return {
    ...observed.members("url" in reach),
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}, asking = {}) =>
      await client.callTool(
        { name, arguments: args },
        undefined,
        asking,
      ) as SeenResult,
    terminate: async () => {
      if (transport instanceof HttpV1) await transport.terminateSession();
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connectV2(
  reach: Reach,
  mode: "legacy" | { pin: string },
  person?: TestPerson,
): Promise<TestClient> {
  const observed = new Observed();
  const client = new ClientV2(INFO, {
    versionNegotiation: { mode },
    capabilities: capabilities(person),
    listChanged: observed.handlers,
  });
  if (person) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      const { action, content } = person(params.message);
      return { action, ...(content && { content }) };
    });
  }
  const transport = "url" in reach
    ? new HttpV2(reach.url, { fetch: observed.watching(reach.fetch) })
    : new ChildTransport(reach);
  await client.connect(transport as TransportV2);
  return {
    ...observed.members("url" in reach),
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}, asking = {}) =>
      await client.callTool({ name, arguments: args }, asking) as SeenResult,
    terminate: async () => {
      if (transport instanceof HttpV2) await transport.terminateSession();
    },
    close: () => client.close(),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** The notifications to a client. */
class Observed {
  #count = 0;
  readonly #waiting = new Set<() => void>();
  readonly #listening = Promise.withResolvers<void>();

  readonly handlers = {
    tools: {
      autoRefresh: false,
      debounceMs: 0,
      onChanged: () => {
        this.#count++;
        for (const check of this.#waiting) check();
      },
    },
  };

  /** A `fetch` that notices the stream on which a client listens. */
  watching(inner?: FetchLike): FetchLike {
    const ending = endingFetch(inner);
    return async (url, init) => {
      const response = await ending(url, init);
      const isStream = init?.method === "GET" ||
        String(init?.body).includes('"subscriptions/listen"');
      if (isStream && response.ok) this.#listening.resolve();
      return response;
    };
  }

  members(isHttp: boolean) {
    return {
      changes: () => this.#count,
      changed: (count: number) =>
        new Promise<void>((resolve) => {
          const check = () => {
            if (this.#count < count) return;
            this.#waiting.delete(check);
            resolve();
          };
          this.#waiting.add(check);
          check();
        }),
      listening: () => isHttp ? this.#listening.promise : Promise.resolve(),
    };
  }
}
