import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { ServerStatus } from "../../../../computer/mod.ts";
import { startComputer, takeSeat } from "../../../support/computer/computer.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../../support/computer/resource_servers.ts";
import { scratch } from "../../../support/scratch.ts";

Deno.test({
  name:
    "an MCP server whose input command failed is restarted until it succeeds",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "token");
  await using pc = await startComputer({
    a: fixture({ only: ["environment"] }, {
      server_parameters: { command: Deno.execPath(), env: { T: "${input:t}" } },
    }),
    // The second value stays missing, so another attempt would not help.
    b: fixture({}, {
      server_parameters: { command: "${input:t}${input:nobody}" },
    }),
  }, {
    inputs: [
      { type: "command", id: "t", description: "", command: `cat ${file}` },
      { type: "promptString", id: "nobody", description: "" },
    ],
    restart: { minDelayMs: 1, maxDelayMs: 20 },
  });
  const { computer, office: { agent } } = pc;
  const failing = computer.status().servers;
  assertEquals(failing.map(({ state }) => state === "running"), [false, false]);
  assertStringIncludes(failing[1]?.error ?? "", 'input "nobody"');
  assertEquals(failing[1]?.nextAttempt, undefined);
  const running = new Promise<ServerStatus>((resolve) =>
    computer.on("serverState", (status) => {
      if (status.state === "running") resolve(status);
    })
  );
  await Deno.writeTextFile(file, "t0ken\n");
  assertEquals((await running).name, "a");
  const { content } = await agent.callTool("pc", "environment", {});
  assertEquals(JSON.parse(content[0]?.text ?? "").T, "t0ken");
});

Deno.test({
  name:
    "a document that is listed with a query can be opened by the URI that Finder shows",
  timeout: 120_000,
}, async () => {
  const listed = "dpe://docs/report?version=3#top";
  await using pc = await startComputer(resourceServers({
    name: "docs",
    resources: [
      { uri: listed, name: "report" },
      { uri: "dpe://docs/plain", name: "plain" },
    ],
    contents: {
      [listed]: [{ uri: listed, text: "the report" }],
      "dpe://docs/report": null,
    },
  }));
  const seen: unknown[] = [];
  pc.computer.registerDpeResolver({
    resolve: (uri, contents) => {
      seen.push([uri, contents[0]?.text]);
      return { uri: "https://example.com/x" };
    },
  });
  const { agent } = pc.office;
  const { documents } = await agent.getFinder("pc");
  assertEquals(documents.map(({ uri }) => uri).toSorted(), [
    "dpe://docs/plain",
    "dpe://docs/report",
  ]);
  await agent.getDpe("pc", "dpe://docs/report");
  await agent.getDpe("pc", "dpe://docs/plain");
  assertEquals(seen, [
    ["dpe://docs/report", "the report"],
    ["dpe://docs/plain", "text of dpe://docs/plain"],
  ]);
});

Deno.test({
  name: "a call whose result is too large to keep is not run a second time",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture({ only: ["big"] }) }, {}, {
    server: { maxMessageBytes: 64 * 2 ** 20 },
  });
  const wire = await takeSeat(pc.office);
  const call = { tool_name: "big", params: { bytes: 17 * 2 ** 20 } };
  const first = await wire.call(call);
  assertEquals(first.content[0]?.text?.length, call.params.bytes);
  const second = await wire.call(call);
  assertEquals(second.isError, true);
  assertStringIncludes(second.content[0]?.text ?? "", "too large to keep");
});
