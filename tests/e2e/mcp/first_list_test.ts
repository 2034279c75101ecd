import { assertEquals } from "@std/assert";
import { officeMcp } from "../../../mcp/mod.ts";
import {
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { startOffice } from "../../support/office.ts";

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
