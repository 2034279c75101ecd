import { assertEquals } from "@std/assert";
import { mcpGateway } from "../../../mcp/mod.ts";
import { PROFILES, type ProtocolName } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

/** A Computer with one tool, named after its version. */
async function computerOf(url: string, protocol: ProtocolName) {
  const { handshake, version } = PROFILES[protocol];
  const pc = await joinRaw(
    { url, version: handshake ? version : null },
    "computer",
    `pc ${protocol}`,
    "north",
  );
  const tool = {
    name: `server__tool${protocol.replace(".", "")}`,
    bundle_id: "server",
    description: "",
    params_schema: { type: "object" },
    return_schema: null,
  };
  const none = { code: 400, message: "not of this Computer" };
  pc.socket.onAny((event, _, ack?: (answer: unknown) => void) =>
    ack?.(event === "client:get_tools" ? { tools: [tool], req_id: "1" } : none)
  );
  return pc;
}

/** Lists the tools of the office "north" as an MCP client, by their last words. */
async function listedTools(url: string): Promise<string[]> {
  const response = await post(
    new URL("/mcp/north", url),
    modernRequest("tools/list"),
  );
  const text = JSON.stringify(response);
  return [...new Set([...text.matchAll(/tool0\d/g)].map(([word]) => word))];
}

for (const protocol of ["0.1", "0.2", "0.3", "0.4"] as const) {
  Deno.test(`an office of ${protocol} is served as an MCP server (protocol §14)`, async () => {
    await using server = createSmcpServer({ protocol, gateway: mcpGateway() });
    const { url } = await server.listen();
    await using _computer = await computerOf(url, protocol);
    assertEquals(await listedTools(url), [`tool${protocol.replace(".", "")}`]);
  });
}

Deno.test("MCP shows the tools of Computers of every version in one office, and its Agent makes way for one of any version (protocol §14)", async () => {
  const gateway = mcpGateway();
  await using server = createSmcpServer({ protocol: "all", gateway });
  const { url } = await server.listen();
  await using stack = new AsyncDisposableStack();
  for (const protocol of ["0.3", "0.1", "0.4", "0.2"] as const) {
    stack.use(await computerOf(url, protocol));
  }
  const all = ["tool01", "tool02", "tool03", "tool04"];
  assertEquals((await listedTools(url)).sort(), all);
  await using computer = await joinRaw(url, "computer", "pc", "north");
  await using agent = await joinRaw(url, "agent", "other", "north");
  assertEquals(agent.socket.connected, true);
  assertEquals(await computer.next("notify:leave_office"), {
    office_id: "north",
    agent: "mcp",
  });
});
