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
    const raw = await joinRaw(url, "computer", "pc", "north", {
      version: RAW_VERSIONS[protocol],
    });
    raw.handle(GET_TOOLS_EVENT, (_, ack) => ack(answer));
    return raw;
  }
  const computer = scriptedComputer({
    url,
    name: "pc",
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

Deno.test("MCP shows the office of the newest version that has Computers there (0.4 §18)", async () => {
  for (
    const [present, shown] of [
      [["0.2"], ["tool02"]],
      [["0.1"], ["tool01"]],
      [["0.2", "0.4"], ["tool04"]],
      [["0.3", "0.1", "0.2"], ["tool03"]],
    ] as const
  ) {
    await using server = createSmcpServer({
      protocol: "all",
      gateway: mcpGateway(),
    });
    const { url } = await server.listen();
    await using stack = new AsyncDisposableStack();
    for (const protocol of present) stack.use(await computerOf(url, protocol));
    assertEquals(await listedTools(url), [...shown], present.join());
  }
});

Deno.test("without Computers MCP sits in 0.2, or in the newest version without that (0.4 §18)", async () => {
  for (
    const [served, expected] of [["all", "0.2.0"], [
      ["0.3", "0.4"],
      "0.4.0",
    ]] as const
  ) {
    await using server = createSmcpServer({
      protocol: served,
      gateway: mcpGateway(),
    });
    const { url } = await server.listen();
    assertEquals(await listedTools(url), []);
    const version = expected;
    await using computer = await joinRaw(url, "computer", "pc", "north", {
      version,
    });
    // Its Agent sits there: it makes way for another one of that version.
    await using agent = await joinRaw(url, "agent", "other", "north", {
      version,
    });
    assertEquals(agent.socket.connected, true);
    assertEquals(await computer.next("notify:leave_office"), {
      office_id: "north",
      agent: "mcp",
    });
  }
});
