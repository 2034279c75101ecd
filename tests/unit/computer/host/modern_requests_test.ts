import { assertEquals } from "@std/assert";
import { ModernRequests } from "../../../../computer/host/mcp/modern_requests.ts";

const VERSION = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };

const requestOf = (
  id: number,
  method: string,
  params: Record<string, unknown> = {},
  _meta: Record<string, unknown> = VERSION,
) => ({ method, params: { ...params, _meta }, jsonrpc: "2.0" as const, id });

/** Sends requests to a server that answers by its own stream, and returns what it got. */
function start() {
  const requests = new ModernRequests();
  const sent: { headers: Headers; signal: AbortSignal | null | undefined }[] =
    [];
  const streams: ReadableStreamDefaultController<Uint8Array>[] = [];
  const fetch = requests.sending((_, init = {}) => {
    sent.push({ headers: new Headers(init.headers), signal: init.signal });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        streams.push(controller);
        init.signal?.addEventListener(
          "abort",
          () => controller.error(init.signal?.reason),
        );
      },
    });
    return Promise.resolve(new Response(body));
  });
  const send = (message: object) =>
    fetch("http://a/", {
      method: "POST",
      headers: { "mcp-protocol-version": "2025-11-25", other: "1" },
      body: JSON.stringify(message),
    });
  /** The headers of MCP that a request has. */
  const headersOf = async (message: ReturnType<typeof requestOf>) => {
    requests.begin(message);
    await send(message);
    return Object.fromEntries(
      [...sent.at(-1)!.headers].filter(([name]) => name.startsWith("mcp-")),
    );
  };
  return { requests, send, sent, streams, headersOf };
}

Deno.test("a request has its revision, method and name in headers; one of a session is sent as it is", async () => {
  const { headersOf } = start();
  const version = { "mcp-protocol-version": "2026-07-28" };
  const rows: [
    method: string,
    params: Record<string, unknown>,
    name?: string,
  ][] = [
    ["server/discover", {}],
    ["tools/list", { name: "no name here" }],
    ["tools/call", { name: "echo" }, "echo"],
    ["prompts/get", { name: "é" }, "=?base64?w6k=?="],
    ["resources/read", { uri: "file:///a" }, "file:///a"],
    ["tasks/get", { taskId: "t" }, "t"],
    ["tasks/update", { taskId: "t" }, "t"],
    ["tasks/cancel", { taskId: "t" }, "t"],
    ["tools/call", { name: 5 }],
  ];
  for (const [method, params, name] of rows) {
    assertEquals(await headersOf(requestOf(1, method, params)), {
      ...version,
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    });
  }
  const older = requestOf(2, "tools/call", { name: "echo" }, {});
  assertEquals(await headersOf(older), {
    "mcp-protocol-version": "2025-11-25",
  });
});

Deno.test("arguments that the last list of tools marks are repeated in headers, as long as that list is the last", async () => {
  const { requests, headersOf } = start();
  const list = (id: number, names: string[], cursor?: string) => {
    requests.begin(requestOf(id, "tools/list", cursor ? { cursor } : {}));
    const region = { type: "string", "x-mcp-header": "Region" };
    const inputSchema = { type: "object", properties: { region } };
    const tools = [
      null,
      { name: "plain", inputSchema: { type: "object" } },
      ...names.map((name) => ({ name, inputSchema })),
    ];
    requests.answered({ jsonrpc: "2.0", id, result: { tools } });
  };
  const regionOf = async (name: string) => {
    const args = { name, arguments: { region: "eu" } };
    const headers = await headersOf(requestOf(9, "tools/call", args));
    return headers["mcp-param-region"];
  };
  list(1, ["a"]);
  list(2, ["b"], "page 2");
  assertEquals([await regionOf("a"), await regionOf("b")], ["eu", "eu"]);
  assertEquals(await regionOf("plain"), undefined);
  list(3, ["b"]);
  assertEquals([await regionOf("a"), await regionOf("b")], [undefined, "eu"]);
  requests.begin(requestOf(4, "tools/list"));
  const error = { code: -1, message: "no" };
  requests.answered({ jsonrpc: "2.0", id: 4, error });
  assertEquals(await regionOf("b"), "eu");
});

Deno.test("a request that is cancelled ends its response without an error; others go on", async () => {
  const { requests, send, sent } = start();
  const one = requestOf(1, "tools/call");
  const two = requestOf(2, "tools/call");
  for (const request of [one, two]) requests.begin(request);
  const response = await send(one);
  await send(two);
  const text = response.text();
  assertEquals(requests.cancel(1), true);
  assertEquals(await text, "");
  assertEquals(sent.map(({ signal }) => signal?.aborted), [true, false]);
  assertEquals([requests.cancel(1), requests.cancel(3)], [false, false]);
  requests.answered({ jsonrpc: "2.0", id: 2, result: {} });
  assertEquals(requests.cancel(2), false);
});
