import { assertEquals, assertStringIncludes } from "@std/assert";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { type McpCall, officeMcp } from "../../../mcp/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { INITIALIZE, JSON_HEADERS, LIST_TOOLS } from "../../support/mcp/raw.ts";

Deno.test("instructions name MCP servers that are configured and offer no tool", async () => {
  await using running = await startComputer({
    fix: fixtureHere({ only: ["echo"] }),
    broken: fixture({ start: "exit" }),
    off: fixture({}, { disabled: true }),
  });
  await using mcp = officeMcp(running.office.agent);
  const response = await mcp.fetch("http://office/mcp", {
    method: "POST",
    headers: JSON_HEADERS,
    body: INITIALIZE,
  });
  assertStringIncludes(
    await response.text(),
    "On pc these MCP servers offer no tool now, perhaps because they do not run: broken.",
  );
});

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: each call is admitted with who calls, and refused with what that throws`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const calls: McpCall[] = [];
    await using mcp = officeMcp(running.office.agent, {
      admit: (call) => {
        calls.push(call);
        if (calls.length > 1) throw new Error("Too many calls of ann");
      },
    });
    await using client = await connect({
      url: new URL("http://office/mcp"),
      fetch: (input, init) =>
        mcp.handle(new Request(input, init), { principal: "ann" }),
    });
    await client.call("pc__echo", { text: "hello" });
    const refused = await client.call("pc__echo", { text: "again" });
    assertEquals(refused.content, [
      { type: "text", text: "Too many calls of ann" },
    ]);
    assertEquals(refused.isError, true);
    const [{ reqId, ...call }] = calls as [McpCall];
    assertEquals(reqId.length, 36);
    assertEquals(call, {
      computer: "pc",
      tool: "echo",
      principal: "ann",
      client: { name: "test", version: "1.0.0" },
    });
    await client.terminate();
  });
}

Deno.test("stdio without an Agent waits with a reason, and tells when there is one", async () => {
  await using running = await startComputer({ fix: fixtureHere() });
  let isFree = false;
  await using mcp = officeMcp(() => {
    if (isFree) return running.office.agent;
    throw new Error(`The seat of the office is taken by "ann"`);
  });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const connection = mcp.serveStdio({ stdin, stdout });
  const lines = createInterface(stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? "null");
  const ask = (line: string) => {
    stdin.write(`${line}\n`);
    return next();
  };
  const { result } = await ask(INITIALIZE);
  assertEquals(
    result.instructions,
    `No tools can be used now: The seat of the office is taken by "ann"`,
  );
  assertEquals((await ask(LIST_TOOLS)).result.tools, []);
  const call = JSON.stringify({
    jsonrpc: "2.0",
    id: 3,
    method: "tools/call",
    params: { name: "pc__echo", arguments: { text: "hello" } },
  });
  const early = await ask(call);
  assertEquals(early.result.isError, true);
  assertStringIncludes(early.result.content[0].text, `taken by "ann"`);
  isFree = true;
  await mcp.refresh();
  assertEquals((await next()).method, "notifications/tools/list_changed");
  assertEquals((await ask(LIST_TOOLS)).result.tools[0].name, "pc__echo");
  assertEquals((await ask(call)).result.content[0].text, "hello");
  stdin.end();
  await connection.closed;
});
