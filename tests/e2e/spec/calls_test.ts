import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ToolCallAdvanced, ToolHost } from "../../../computer/mod.ts";
import { resultMeta, type ToolProgress } from "../../../protocol/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { createCounter } from "../../support/fixtures/counter.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";

const textOf = (result: { content: { text?: string }[] }) =>
  result.content.map(({ text }) => text ?? "").join("\n");

Deno.test({
  name:
    "disabled, forbidden, clashing and unknown tools are not listed, and neither confirmed nor run (protocol §4, §7)",
  timeout: 120_000,
}, async () => {
  const asked: string[] = [];
  const twin = fixture({ only: ["same"] });
  await using pc = await startComputer({
    a: fixture({ only: ["echo", "pid", "same", "directory"] }, {
      forbidden_tools: ["pid", "place"],
      tool_meta: {
        echo: { alias: "say" },
        pid: { alias: "id" },
        directory: { alias: "place" },
      },
    }),
    off: fixture({ only: ["dark"] }, { disabled: true }),
    twin,
  }, {
    confirm: ({ name }) => {
      asked.push(name);
      return "once";
    },
  });
  const { agent } = pc.office;
  const names = async () =>
    (await agent.getTools("pc")).map(({ name }) => name);
  assertEquals(await names(), ["say"]);
  const refusals = {
    pid: 4002,
    id: 4002,
    directory: 4002,
    place: 4002,
    dark: 4001,
    same: 4001,
    nothing: 4001,
    echo: 4001,
  };
  for (const [tool, code] of Object.entries(refusals)) {
    const result = await agent.callTool("pc", tool);
    assertEquals(resultMeta(result), { error_code: code }, tool);
  }
  assertEquals(asked, []);
  const said = await agent.callTool("pc", "say", { text: "hi" });
  assertEquals([textOf(said), asked], ["hi", ["say"]]);
  const { servers, problems: [problem = "", ...more] } = pc.computer.status();
  const off = servers.find(({ name }) => name === "off");
  assertEquals([off?.state, off?.tools, more], ["disabled", 0, []]);
  const refused = textOf(await agent.callTool("pc", "same"));
  for (const part of ['"a"', '"twin"', "alias"]) {
    assertStringIncludes(problem, part);
    assertStringIncludes(refused, part);
  }
  const tool_meta = { same: { alias: "other" } };
  await pc.computer.updateServer("twin", { ...twin, tool_meta });
  assertEquals(await names(), ["say", "same", "other"]);
  assertEquals(pc.computer.status().problems, []);
});

Deno.test({
  name:
    "the Agent does not get the error text of an MCP server's connection (protocol §6)",
  timeout: 120_000,
}, async () => {
  await using http = await startHttpFixture("streamable");
  await using pc = await startComputer({
    a: {
      type: "streamable",
      server_parameters: {
        url: `${http.url}?key=s3cret`,
        headers: { authorization: "Bearer s3cret" },
      },
    },
  });
  const { agent } = pc.office;
  await agent.callTool("pc", "echo");
  const pending = agent.callTool("pc", "slow", {});
  await agent.callTool("pc", "slow_began");
  const [result] = await Promise.all([pending, http.kill()]);
  assertEquals(resultMeta(result), { error_code: 4003 });
  const shown = JSON.stringify(result);
  for (const secret of ["s3cret", "127.0.0.1", "    at "]) {
    assertEquals(shown.includes(secret), false, shown);
  }
});

const counter = () => ({
  counter: {
    type: "in-process",
    server: createCounter(),
    default_tool_meta: { auto_apply: true },
  },
} as const);

/** Those in between may come too on a slow machine: ten a second at most. */
function assertFromFirstToLast(told: readonly ToolProgress[]): void {
  const [first, last] = [1, 30].map((progress) => ({
    progress,
    total: 30,
    message: "counting",
  }));
  assertEquals([told[0], told.at(-1)], [first, last]);
  const steps = told.map(({ progress }) => progress);
  assertEquals(steps, [...new Set(steps)].toSorted((a, b) => a - b));
  assert(steps.length < 30, `${steps}`);
}

Deno.test({
  name:
    "an Agent that asks gets the progress of its call, the last report before the result, and one that does not ask gets none (protocol §7)",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer(counter());
  const { agent } = pc.office;
  const shown: ToolCallAdvanced[] = [];
  pc.computer.on("callProgress", (call) => shown.push(call));
  const told: ToolProgress[] = [];
  const result = await agent.callTool("pc", "count", {}, {
    reqId: "c1",
    onProgress: (progress) => told.push(progress),
  });
  assertEquals(textOf(result), "true");
  assertFromFirstToLast(told);
  const call = { agent: "planner", reqId: "c1", tool: "count" };
  assertEquals(shown, told.map((progress) => ({ ...call, progress })));
  const before = told.length;
  assertEquals(textOf(await agent.callTool("pc", "count")), "false");
  assertEquals(told.length, before);
});

Deno.test("ToolHost.callTool() tells progress too, and a listener that throws disturbs nothing", async () => {
  await using host = new ToolHost({ servers: counter() });
  await host.start();
  const told: ToolProgress[] = [];
  const result = await host.callTool("count", {}, {
    onProgress: (progress) => {
      told.push(progress);
      throw new Error("from the listener");
    },
  });
  assertEquals(textOf(result), "true");
  assertFromFirstToLast(told);
});

Deno.test("an Agent gets only progress that increases; a Computer without progress harms no call that asks (protocol §7)", async () => {
  await using office = await startOffice();
  await using computer = await joinRaw(office.url, "computer", "pc", OFFICE);
  computer.handle(
    "client:get_tools",
    (_, ack) => ack({ tools: [], req_id: "" }),
  );
  computer.handle("client:tool_call", (payload, ack) => {
    const { agent, req_id, tool_name } = Object(payload);
    const tell = (progress: number) => {
      const report = { computer: "pc", agent, req_id, progress };
      computer.socket.emit("server:tool_call_progress", report);
    };
    if (tool_name === "count") [2, 2, 1, 3].forEach(tell);
    ack({ content: [] });
    tell(4); // too late
  });
  for (const [tool, steps] of [["count", [2, 3]], ["silent", []]] as const) {
    const told: number[] = [];
    const result = await office.agent.callTool("pc", tool, {}, {
      onProgress: ({ progress }) => told.push(progress),
    });
    assertEquals<unknown>([result, told], [{ content: [] }, steps]);
  }
});
