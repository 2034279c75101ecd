import { assertEquals } from "@std/assert";
import { mcpGateway } from "../../../mcp/mod.ts";
import {
  GET_TOOLS_EVENT,
  ProtocolError,
  type ProtocolName,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { scriptedComputer } from "../../../testing/mod.ts";
import { modernRequest, post } from "../../support/mcp/post.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const RAW_VERSIONS = {
  "0.1": null,
  "0.2": "0.2.0",
  "0.3": "0.3.1",
  "0.4": "0.4.0",
};

/** A Computer with one tool, named after its version. */
async function computerOf(url: string, protocol: ProtocolName) {
  const name = `tool${protocol.replace(".", "")}`;
  const tool = {
    name: `server__${name}`,
    bundle_id: "server",
    description: "",
    params_schema: { type: "object" },
    return_schema: null,
  };
  const answer = { tools: [tool], req_id: "1" };
  if (protocol === "0.1") {
    const raw = await joinRaw(
      { url, version: RAW_VERSIONS[protocol] },
      "computer",
      `pc ${protocol}`,
      "north",
    );
    raw.handle(GET_TOOLS_EVENT, (_, ack) => ack(answer));
    return raw;
  }
  const computer = scriptedComputer({
    url,
    name: `pc ${protocol}`,
    protocol,
    script: (event) => {
      if (event === GET_TOOLS_EVENT) return answer;
      throw new ProtocolError(400, "not of this Computer");
    },
  });
  await computer.connect();
  await computer.join("north");
  return computer;
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
  Deno.test(`an office of ${protocol} is served as an MCP server (0.4 §18)`, async () => {
    await using server = createSmcpServer({ protocol, gateway: mcpGateway() });
    const { url } = await server.listen();
    await using _computer = await computerOf(url, protocol);
    assertEquals(await listedTools(url), [`tool${protocol.replace(".", "")}`]);
  });
}

Deno.test("MCP shows the tools of Computers of every version in one office (0.4 §18)", async () => {
  await using server = createSmcpServer({
    protocol: "all",
    gateway: mcpGateway(),
  });
  const { url } = await server.listen();
  await using stack = new AsyncDisposableStack();
  for (const protocol of ["0.3", "0.1", "0.4", "0.2"] as const) {
    stack.use(await computerOf(url, protocol));
  }
  assertEquals((await listedTools(url)).sort(), [
    ...["tool01", "tool02", "tool03", "tool04"],
  ]);
});

Deno.test("MCP's Agent makes way for one of any version (0.4 §18)", async () => {
  await using server = createSmcpServer({
    protocol: "all",
    gateway: mcpGateway(),
  });
  const { url } = await server.listen();
  assertEquals(await listedTools(url), []);
  await using computer = await joinRaw(url, "computer", "pc", "north");
  await using agent = await joinRaw(url, "agent", "other", "north");
  assertEquals(agent.socket.connected, true);
  assertEquals(await computer.next("notify:leave_office"), {
    office_id: "north",
    agent: "mcp",
  });
});
