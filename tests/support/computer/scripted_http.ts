import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An answer over HTTP: default status 200 and JSON; a body that is no text is written as JSON. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A request of a client. */
interface Asked {
  readonly request: IncomingMessage;
  /** The JSON-RPC message of a POST. */
  readonly message: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: Readonly<Record<string, unknown>>;
  };
}

/** What a test answers: a reply, or none where it has answered itself. */
type Answer = (
  asked: Asked,
  response: ServerResponse,
) => Reply | void | Promise<Reply | void>;

/** The answers by JSON-RPC method, `GET` or `DELETE`; others are those of a plain MCP server. */
export type Script = Record<string, Reply | Answer | undefined>;

/** The answer of JSON-RPC to a request. */
export const resultOf = (
  { message: { id } }: Asked,
  result: unknown,
): Reply => ({
  body: { jsonrpc: "2.0", id, result },
});

/** The result of a tool with one text. */
export const said = (text: string) => ({ content: [{ type: "text", text }] });

const PLAIN: Script = {
  initialize: (asked) =>
    resultOf(asked, {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "scripted", version: "1.0.0" },
    }),
  "notifications/initialized": { status: 202, body: "" },
  "notifications/cancelled": { status: 202, body: "" },
  "tools/list": (asked) =>
    resultOf(asked, {
      tools: [{ name: "say", inputSchema: { type: "object" } }],
    }),
  "tools/call": (asked) => resultOf(asked, said("said")),
  ping: (asked) => resultOf(asked, {}),
  GET: { status: 405, body: "" },
  DELETE: { status: 405, body: "" },
};

/** An MCP server over Streamable HTTP whose answers a test scripts. */
export interface ScriptedHttp extends AsyncDisposable {
  /** Its endpoint. */
  readonly url: string;
  /** The answers; may be changed at any time. */
  readonly script: Script;
  /** Resolves when n requests of a JSON-RPC method, or of an HTTP method, have been answered. */
  answered(what: string, count: number): Promise<void>;
  /** The number of those so far. */
  count(what: string): number;
}

/** Starts one on a free port; it has the tool `say`. */
export async function startScriptedHttp(
  script: Script = {},
): Promise<ScriptedHttp> {
  const counts = new Map<string, number>();
  const waiting = new Set<() => void>();
  const count = (what: string) => counts.get(what) ?? 0;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const message = body === "" ? {} : JSON.parse(body);
    const what = message.method ?? request.method ?? "";
    const given = script[what] ?? PLAIN[what] ?? { status: 202, body: "" };
    const reply = typeof given === "function"
      ? await given({ request, message }, response)
      : given;
    if (reply) {
      const { status = 200, headers = {}, body = "" } = reply;
      const type = { "content-type": "application/json" };
      response.writeHead(status, { ...type, ...headers })
        .end(typeof body === "string" ? body : JSON.stringify(body));
    }
    counts.set(what, count(what) + 1);
    for (const look of [...waiting]) look();
  };
  const http = createServer((request, response) =>
    // A client may disconnect during its request.
    void answer(request, response).catch(() => response.destroy())
  );
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    script,
    count,
    answered: (what, least) =>
      new Promise((resolve) => {
        const look = () => {
          if (count(what) < least) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections();
      return new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
