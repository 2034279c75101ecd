import {
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import type { Role } from "../../../protocol/mod.ts";
import {
  joinRaw,
  type RawClient,
  type RawOptions,
} from "../wire/raw_client.ts";

/** The token of {@linkcode operated}'s operator. */
export const TOKEN = "0123456789abcdef0123456789abcdef";

/** An answer of the operator API. */
export interface OperatorAnswer {
  readonly status: number;
  readonly type: string | null;
  /** The JSON of its body. */
  // deno-lint-ignore no-explicit-any -- whatever the test expects
  readonly body: any;
}

/** Sends a request to the operator API of a server. */
export async function operate(
  url: string,
  path: string,
  { token, post, headers, signal }: {
    token?: string;
    /** The body of a change; without it the request is a GET. */
    post?: unknown;
    headers?: Readonly<Record<string, string>>;
    signal?: AbortSignal;
  } = {},
): Promise<OperatorAnswer> {
  const response = await fetch(`${url}/operator/v1${path}`, {
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(post !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(signal && { signal }),
    ...(post !== undefined && {
      method: "POST",
      body: typeof post === "string" ? post : JSON.stringify(post),
    }),
  });
  return {
    status: response.status,
    type: response.headers.get("Content-Type"),
    body: JSON.parse(await response.text()),
  };
}

/** Starts a server with an operator, in whose name it is asked, and whose clients join the office "north". */
export async function operated(options: SmcpServerOptions = {}) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(
    createSmcpServer({ operator: { token: TOKEN }, ...options }),
  );
  const { url } = await server.listen();
  return { server, ...operating(url, stack) };
}

/** The operator of a server, and its clients. */
export const operating = (url: string, stack: AsyncDisposableStack) => ({
  url,
  get: (path: string, token = TOKEN) => operate(url, path, { token }),
  post: (path: string, post: unknown, signal?: AbortSignal) =>
    operate(url, path, { token: TOKEN, post, ...(signal && { signal }) }),
  events: async (options: { office?: string; lastEventId?: string } = {}) =>
    stack.use(await openEvents(url, { token: TOKEN, ...options })),
  join: async (role: Role, name: string, options: RawOptions = {}) =>
    stack.use(await joinRaw({ url, ...options }, role, name, "north")),
  [Symbol.asyncDispose]: () => stack.disposeAsync(),
});

/** The next request of an event that a client gets, and how it is answered. */
export const nextRequest = (client: RawClient, event = "client:tool_call") =>
  new Promise<{
    payload: Record<string, unknown>;
    ack: (...answer: unknown[]) => void;
  }>((resolve) =>
    client.handle(
      event,
      (payload, ack) =>
        resolve({ payload: payload as Record<string, unknown>, ack }),
    )
  );

/** An event of a stream. */
export interface StreamedEvent {
  readonly id: string;
  readonly kind: string;
  readonly data: Record<string, unknown>;
}

/** A stream of events. */
export interface EventStream extends AsyncDisposable {
  /** Resolves with the next event. */
  next(): Promise<StreamedEvent>;
  /** Resolves with the next event of a kind, and forgets those before it. */
  nextOf(kind: string): Promise<StreamedEvent>;
  /** Resolves when the server has ended it. */
  ended(): Promise<void>;
}

/** Opens the stream of events of a server. */
export async function openEvents(
  url: string,
  { token, office, lastEventId }: {
    token: string;
    office?: string;
    lastEventId?: string;
  },
): Promise<EventStream> {
  const query = office === undefined
    ? ""
    : `?office=${encodeURIComponent(office)}`;
  return eventStream(
    await fetch(`${url}/operator/v1/events${query}`, {
      headers: {
        Authorization: `Bearer ${token}`,
        ...(lastEventId !== undefined && { "Last-Event-ID": lastEventId }),
      },
    }),
  );
}

/** Reads an answer that is a stream of server-sent events. */
export async function eventStream(response: Response): Promise<EventStream> {
  if (!response.ok || response.body === null) {
    throw new Error(`${response.status} ${await response.text()}`);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<StreamedEvent> => {
    while (true) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const [, id, kind, data = ""] =
          /^id: (.*)\nevent: (.*)\ndata: ([^\n]*)$/.exec(block) ?? [];
        if (id === undefined || kind === undefined) continue; // a comment
        return { id, kind, data: JSON.parse(data) };
      }
      const { done, value } = await reader.read();
      if (done) throw new Error("The stream has ended");
      text += value;
    }
  };
  return {
    next,
    async nextOf(kind) {
      while (true) {
        const event = await next();
        if (event.kind === kind) return event;
      }
    },
    async ended() {
      while (!(await reader.read()).done);
    },
    [Symbol.asyncDispose]: () => reader.cancel(),
  };
}
