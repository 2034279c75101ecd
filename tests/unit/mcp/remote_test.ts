import type { FetchLike, JSONRPCMessage } from "@modelcontextprotocol/client";
import { assertEquals } from "@std/assert";
import { Remote } from "../../../mcp/pipe/remote.ts";

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
