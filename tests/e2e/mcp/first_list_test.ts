import { assertEquals } from "@std/assert";
import { officeMcp } from "../../../mcp/mod.ts";
import {
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import { SmcpAgent } from "../../../agent/mod.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { modernRequest } from "../../support/mcp/post.ts";
import { JSON_HEADERS } from "../../support/mcp/raw.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { keepTimers } from "../../support/timers.ts";

const TOOL = {
  name: "echo",
  description: "Says it again",
  params_schema: { type: "object" },
  return_schema: null,
};

const SERVERS = {
  files: { type: "stdio", name: "files", server_parameters: { command: "x" } },
};

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the first list waits for the tools of a Computer that is just starting its MCP servers`, async () => {
    await using office = await startOffice();
    let tools: object[] = [];
    const computer = await office.addScriptedComputer("pc", (event) => {
      if (event === GET_TOOLS_EVENT) return { tools, req_id: "1" };
      if (event !== GET_CONFIG_EVENT) throw new Error("not of this Computer");
      // The office knows by now that there are no tools, and that some may come.
      tools = [TOOL];
      computer.send(UPDATE_TOOL_LIST_EVENT, { computer: "pc" });
      return { servers: SERVERS, inputs: null };
    });
    await office.agent.toolsSettled();
    await using mcp = officeMcp(office.agent);
    await using client = await connect({
      url: new URL("http://office/mcp"),
      fetch: mcp.fetch,
    });
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names, ["pc__echo"]);
    await client.terminate();
  });
}

Deno.test("a Computer whose MCP servers offer no tool is waited for once, not each time that the seat is taken", async () => {
  using waits = keepTimers(5_000);
  await using office = await startOffice();
  const asked = Promise.withResolvers<void>();
  await office.addScriptedComputer("pc", (event) => {
    if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
    if (event !== GET_CONFIG_EVENT) throw new Error("not of this Computer");
    asked.resolve();
    return { servers: SERVERS, inputs: null };
  });
  let { agent } = office;
  await agent.toolsSettled();
  await using mcp = officeMcp(() => agent);
  const list = async () => {
    const { headers, body } = modernRequest("tools/list");
    const response = await mcp.fetch("http://office/mcp", {
      method: "POST",
      headers: { ...JSON_HEADERS, ...headers },
      body,
    });
    return (await response.json()).result.tools;
  };
  const first = list();
  await asked.promise;
  await agent.getConfig("pc"); // comes after the answer that the list asked for
  await new Promise((resolve) => setTimeout(resolve, 0));
  waits.fire();
  assertEquals(await first, []);
  await office.agent.leave();
  await using next = new SmcpAgent({ url: office.url, name: "next" });
  await next.connect();
  await next.join(OFFICE);
  agent = next;
  assertEquals(await list(), []);
});
