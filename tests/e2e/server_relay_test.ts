import { assertEquals } from "@std/assert";
import { CLIENT_EVENTS, GET_TOOLS_EVENT } from "../../protocol/mod.ts";
import { createSmcpServer } from "../../server/mod.ts";
import { rawPair } from "../support/raw_client.ts";

const REQUEST = {
  agent: "agent",
  req_id: "r1",
  computer: "computer",
  tool_name: "echo",
  params: { deep: [{ a: null }], __proto__: { x: 1 } },
  timeout: 5,
  mcp_server: "files",
  uri: "dpe://host/doc",
  later_field: { kept: true },
};

Deno.test("the server routes all seven client events, request and answer unchanged (spec §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  for (const event of Object.keys(CLIENT_EVENTS)) {
    let seen: unknown;
    const answer = { content: [], event, nested: { list: [1, "2", null] } };
    pair.computer.handle(event, (payload, ack) => {
      seen = payload;
      ack(answer);
    });
    assertEquals(await pair.agent.request(event, REQUEST), [answer]);
    assertEquals(seen, JSON.parse(JSON.stringify(REQUEST)));
  }
  void GET_TOOLS_EVENT;
});
