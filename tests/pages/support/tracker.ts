/**
 * Inside a machine of {@linkcode startMachine}: the MCP server `https://tracker.example/mcp` of the
 * pages. Its one tool returns the `Authorization` header that it gets.
 *
 * @module
 */
const tls = {
  cert: Deno.readTextFileSync("tracker-cert.pem"),
  key: Deno.readTextFileSync("tracker-key.pem"),
};
const tool = { name: "whoami", inputSchema: { type: "object" } };

Deno.serve({ port: 443, ...tls }, async (request) => {
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const { id, method, params } = await request.json();
  if (id === undefined) return new Response(null, { status: 202 });
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "tracker", version: "1.0.0" },
    },
    "tools/list": { tools: [tool] },
    "tools/call": {
      content: [{ type: "text", text: request.headers.get("Authorization") }],
    },
  };
  return Response.json({ jsonrpc: "2.0", id, result: results[method] ?? {} });
});
