import type { AddressInfo } from "node:net";
import type { FetchLike, JSONRPCMessage } from "@modelcontextprotocol/client";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { createServer, type RequestListener } from "node:http";
import {
  type NodeFetch,
  nodeFetch,
} from "../../../client/network/node_fetch.ts";
import { Remote } from "../../../mcp/pipe/remote.ts";

/** Serves on a free port of loopback. */
async function serve(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/`),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

Deno.test("nodeFetch() sends a POST once, though its connection was used before and ends without an answer", async () => {
  const paths: (string | undefined)[] = [];
  const sockets = new Set<unknown>();
  await using server = await serve((request, response) => {
    paths.push(request.url);
    sockets.add(request.socket);
    request.resume();
    // Only now: the request is a server's own from its last byte on.
    request.on("end", () => {
      if (request.url === "/cut") request.socket.end();
      else response.end("ok");
    });
  });
  const fetch = nodeFetch();
  const post = async (path: string) => {
    const url = new URL(path, server.url);
    const response = await fetch(url, { method: "POST", body: "{}" });
    const text = await response.text();
    // The agent takes the connection back in a later turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    return text;
  };
  assertEquals([await post("/1"), await post("/2")], ["ok", "ok"]);
  await assertRejects(() => post("/cut"), Error, "socket hang up");
  assertEquals(paths, ["/1", "/2", "/cut"]);
  assertEquals(sockets.size, 1);
});

Deno.test("nodeFetch() closes the connections that it keeps when its signal is aborted", async () => {
  let isClosed = false;
  await using server = await serve((request, response) => {
    if (request.url === "/kept") {
      request.socket.on("close", () => isClosed = true);
    }
    response.end("ok");
  });
  const ended = new AbortController();
  const get = async (fetch: NodeFetch, path: string) =>
    await (await fetch(new URL(path, server.url))).text();
  await get(nodeFetch({}, undefined, ended.signal), "/kept");
  ended.abort();
  // Requests in place of a time: it is closed long before they end, and idle ones after seconds.
  for (let left = 100; left > 0 && !isClosed; left--) await get(fetch, "/");
  assert(isClosed);
});

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1.0.0" },
  },
} as const;

/** Never answers; rejects on abort. */
const unanswered = (signal: AbortSignal | null | undefined) =>
  new Promise<never>((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason))
  );

Deno.test("a request waits for the session that replaces a forgotten one", async () => {
  const delivered: JSONRPCMessage[] = [];
  const [lost, reopen, answered] = [0, 1, 2].map(() =>
    Promise.withResolvers<void>()
  );
  const asked: (string | null)[] = [];
  let sessions = 0;
  const fetch: FetchLike = async (_, init) => {
    const session = new Headers(init?.headers).get("mcp-session-id");
    if (init?.method === "DELETE") return new Response();
    if (init?.method !== "POST") {
      if (session !== "session 1") return await unanswered(init?.signal);
      return new Response(null, { status: 404 }); // its stream of changes finds it out
    }
    const { id, method } = JSON.parse(String(init.body));
    if (id === undefined) return new Response(null, { status: 202 });
    if (method !== "initialize") {
      asked.push(session);
      if (session === "session 1") return await unanswered(init.signal);
      return Response.json({ jsonrpc: "2.0", id, result: {} });
    }
    const name = `session ${++sessions}`;
    if (sessions > 1) {
      lost?.resolve();
      await reopen?.promise;
    }
    return Response.json({
      jsonrpc: "2.0",
      id,
      result: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        serverInfo: { name: "test", version: "1.0.0" },
      },
    }, { headers: { "mcp-session-id": name } });
  };
  const remote = new Remote({
    url: new URL("http://server/mcp/north"),
    fetch,
    headers: {},
    subscribed: new Set(),
    deliver: (message) => {
      delivered.push(message);
      if ("id" in message && message.id === 1) answered?.resolve();
      if ("id" in message && message.id === 0) {
        remote.send({ jsonrpc: "2.0", method: "notifications/initialized" });
      }
    },
    log: () => {},
  });
  remote.send(INITIALIZE);
  await lost?.promise;
  remote.send({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  reopen?.resolve();
  await answered?.promise;
  assertEquals(delivered.at(-1), { jsonrpc: "2.0", id: 1, result: {} });
  assertEquals(asked, ["session 2"]);
  await remote.close();
});
