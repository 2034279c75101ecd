import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type McpCall,
  officeMcp,
  type OfficeMcpOptions,
} from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import {
  CLIENTS,
  connectV1,
  ERAS,
  sdkClient,
} from "../../support/mcp/clients.ts";
import {
  agentAt,
  inProcess,
  type OfficeServed,
  pipeCommand,
  serveOffice,
} from "../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  modernRequest,
  refusalOf,
} from "../../support/mcp/post.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { keepTimers } from "../../support/timers.ts";

Deno.test("instructions name MCP servers that are configured and offer no tool", async () => {
  await using running = await startComputer({
    fix: fixtureHere({ only: ["echo"] }),
    broken: fixture({ start: "exit" }),
    off: fixture({}, { disabled: true }),
  });
  await using mcp = officeMcp(running.office.agent);
  await using client = await connectV1(inProcess(mcp));
  assertStringIncludes(
    client.instructions ?? "",
    "On pc these MCP servers offer no tool now, perhaps because they do not run: broken.",
  );
  await client.terminate();
});

const SERVERS = {
  files: { type: "stdio", name: "files", server_parameters: { command: "x" } },
};

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: the first list waits for the tools of a Computer that is just starting its MCP servers`, async () => {
    await using office = await startOffice();
    let tools: object[] = [];
    const computer = await office.addScriptedComputer("pc", (event) => {
      if (event === "client:get_tools") return { tools, req_id: "1" };
      // The office has found by now that there are no tools, and that some may come.
      tools = [{
        name: "echo",
        description: "Says it again",
        params_schema: { type: "object" },
        return_schema: null,
      }];
      computer.send("server:update_tool_list", { computer: "pc" });
      return { servers: SERVERS, inputs: null };
    });
    await office.agent.toolsSettled();
    await using mcp = officeMcp(office.agent);
    await using client = await connect(inProcess(mcp));
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names, ["pc__echo"]);
    await client.terminate();
  });

  Deno.test(`${kind}: a Server that ends and has a successor costs the running calls, and no client reconnects`, async () => {
    await using first = createSmcpServer();
    await using second = createSmcpServer();
    await using proxy = await startProxy((await first.listen()).url);
    const { url } = proxy;
    await using running = await startComputer(
      { fix: fixtureHere() },
      { url },
      { agent: { url } },
    );
    const { agent } = running.office;
    await using mcp = officeMcp(agent);
    await using client = await connect(inProcess(mcp));
    const before = await client.tools();
    const slow = client.call("pc__slow");
    await client.call("pc__slow_began");

    const back = Promise.withResolvers<void>();
    agent.on("disconnected", () => {
      agent.on("tools", ({ tools }) => {
        if (tools !== undefined) back.resolve();
      });
    });
    proxy.turnTo((await second.listen()).url);
    proxy.cut(); // as a Server does that is killed
    const lost = await slow;
    assertEquals([lost.isError, lost._meta?.error_code], [true, "lost"]);
    await back.promise;
    const result = await client.call("pc__echo", { text: "again" });
    assertEquals(result.content, [{ type: "text", text: "again" }]);
    assertEquals(await client.tools(), before);
    await client.terminate();
  });
}

Deno.test("a Computer whose MCP servers offer no tool is waited for once, not each time that the seat is taken", async () => {
  using waits = keepTimers(5_000);
  await using office = await startOffice();
  const asked = Promise.withResolvers<void>();
  await office.addScriptedComputer("pc", (event) => {
    if (event === "client:get_tools") return { tools: [], req_id: "1" };
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
  await using next = await agentAt(office.url);
  await next.join(OFFICE);
  agent = next;
  assertEquals(await list(), []);
});

for (const era of ERAS) {
  Deno.test(`${era}: each call, read and prompt is admitted with its sender, and refused with what that throws`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const asked: McpCall[] = [];
    await using mcp = officeMcp(running.office.agent, {
      desktopTools: true,
      admit: (call) => {
        if (asked.push(call) > 3) throw new Error("Too many reads of ann");
      },
    });
    await using client = await sdkClient(inProcess(mcp, "ann"), era);
    const uri = "a2c://pc/desktop";
    const desktop = { name: "desktop", arguments: { computer: "pc" } };
    const echo = { name: "pc__echo", arguments: { text: "hello" } };
    await client.callTool(echo);
    await client.readResource({ uri });
    await client.callTool(desktop);
    const refused = await client.readResource({ uri }).catch(String);
    assertStringIncludes(`${refused}`, "Too many reads of ann");
    for (const call of [desktop, echo]) {
      const { isError, content } = await client.callTool(call);
      assertEquals([isError, content], [
        true,
        [{ type: "text", text: "Too many reads of ann" }],
      ]);
    }
    const from = {
      computer: "pc",
      principal: "ann",
      client: { name: "test", version: "1.0.0" },
    };
    const kinds = [{ tool: "echo" }, { uri }, { tool: "desktop" }];
    assertEquals(
      asked.map(({ reqId, ...rest }) => [reqId.length, rest]),
      [...kinds, { uri }, { tool: "desktop" }, { tool: "echo" }]
        .map((kind) => [36, { ...from, ...kind }]),
    );
  });
}

/** The names of the tools that a client with a query gets; its session ends, which would keep the view. */
async function shown({ url }: OfficeServed, query: string): Promise<string[]> {
  await using client = await connectV1({ url: new URL(`?${query}`, url) });
  const names = (await client.tools()).map(({ name }) => name);
  await client.terminate();
  return names;
}

/** Opens a session with a query. */
const open = ({ url }: OfficeServed, query: string) =>
  fetch(new URL(`?${query}`, url), {
    method: "POST",
    headers: JSON_HEADERS,
    body: INITIALIZE,
  });

Deno.test("the query of the URL says which tools a client sees of an office, each client for itself", async () => {
  await using office = await serveOffice();
  const all = await shown(office, "");
  const own = all.map((name) => name.replace("pc__", ""));
  for (
    const [query, expected] of Object.entries({
      "computer=pc": own,
      "include=pc__echo": ["pc__echo"],
      "exclude=pc__echo": all.filter((name) => name !== "pc__echo"),
      "tools=search": ["search_tools", "call_tool"],
      "computer=other": [],
    })
  ) assertEquals(await shown(office, query), expected, query);
  const flags = ["--computer", "pc", "--include", "echo", "--desktop-tools"];
  await using client = await connectV1(pipeCommand(office.url, ...flags));
  assertEquals(
    (await client.tools()).map(({ name }) => name),
    ["echo", "desktop", "find_documents", "read_document"],
    "the flags of smcp-agent mcp",
  );
  await client.close();
  const wrong = await refusalOf(await open(office, "exlude=x"));
  assertEquals(wrong.status, 400);
  assertStringIncludes(String(wrong.message), `no parameter "exlude"`);
  // Beyond the most views that there can be, the one that nobody uses ends.
  for (let limit = 24; limit < 128; limit++) {
    const names = await shown(office, `name-limit=${limit}`);
    assert(names.includes("pc__echo"), `${limit}`);
  }
  let refused: Response | undefined;
  for (let limit = 24; limit < 128 && refused?.status !== 503; limit++) {
    await refused?.body?.cancel();
    refused = await open(office, `name-limit=${limit}`); // its session is in use
  }
  assert(refused);
  assertStringIncludes(
    String((await refusalOf(refused)).message),
    "Too many different queries are in use: at most ",
  );
});

Deno.test("no query gets around the tools that an office hides", async () => {
  const rows: [OfficeMcpOptions, string[]][] = [
    [{ exclude: ["pc__echo"] }, [
      ...["computer=pc", "include=pc__echo", "name-limit=24"],
    ]],
    [{ include: ["pc__slow*"] }, ["include=*", "computer=pc&include=echo"]],
  ];
  for (const [mcp, queries] of rows) {
    await using office = await serveOffice({ mcp });
    for (const query of queries) {
      const names = await shown(office, query);
      assertEquals(names.filter((name) => /echo$/.test(name)), [], query);
    }
  }
});
