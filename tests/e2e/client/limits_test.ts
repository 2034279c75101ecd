import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ConnectionError } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import type { RequestHandler } from "../../../client/options.ts";
import { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import { OFFICE, startOffice } from "../../support/office.ts";

const MAX_BYTES = 100_000;

Deno.test("parameters too large or nested too deeply fail only their call; the connection continues", async () => {
  const release = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const slow: RequestHandler = async (event) => {
    if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
    started.resolve();
    await release.promise;
    return { content: [{ type: "text", text: "done" }] };
  };
  await using office = await startOffice({
    server: { maxMessageBytes: MAX_BYTES },
    computers: { pc: slow },
  });
  const { agent } = office;
  const lost: unknown[] = [];
  agent.on("disconnected", (why) => lost.push(why));
  const other = agent.callTool("pc", "slow");
  await started.promise;
  const large = await assertRejects(
    () => agent.callTool("pc", "slow", { text: "x".repeat(MAX_BYTES) }),
    ConnectionError,
  );
  assertEquals(large.code, "too_large");
  assertStringIncludes(large.message, `at most ${MAX_BYTES}`);
  const [, bytes = ""] = /it has (\d+) bytes/.exec(large.message) ?? [];
  assertEquals(Number(bytes) > MAX_BYTES, true, large.message);
  const deep = await assertRejects(
    () => agent.callTool("pc", "slow", nested(100)),
    ConnectionError,
    "nested deeper than 63 levels",
  );
  assertEquals(deep.code, "too_large");
  await assertRejects(
    () => agent.getFinder("pc", { keywords: ["x".repeat(MAX_BYTES)] }),
    ConnectionError,
    "at most",
  );
  await assertRejects(
    () => agent.callTool("pc", "slow", { id: 1n }),
    TypeError,
    "as JSON",
  );
  release.resolve();
  assertEquals((await other).content, [{ type: "text", text: "done" }]);
  assertEquals(lost, []);
});

Deno.test("parameters of exactly the maximum size and depth arrive", async () => {
  await using office = await startOffice({
    server: { maxMessageBytes: MAX_BYTES },
    computers: {
      pc: (event) =>
        event === GET_TOOLS_EVENT
          ? { tools: [], req_id: "1" }
          : { content: [] },
    },
  });
  const { agent } = office;
  assertEquals((await agent.callTool("pc", "t", nested(62))).content, []);
  await assertRejects(
    () => agent.callTool("pc", "t", nested(63)),
    ConnectionError,
    "nested deeper",
  );
  const reqId = "r".repeat(36);
  const fits = JSON.stringify({
    computer: "pc",
    tool_name: "t",
    params: { text: "" },
    timeout: 60,
    progress: "waiting",
    agent: agent.name,
    req_id: reqId,
  }).length;
  const text = "x".repeat(MAX_BYTES - 64 - fits);
  assertEquals((await agent.callTool("pc", "t", { text })).content, []);
  await assertRejects(
    () => agent.callTool("pc", "t", { text: `${text}x` }),
    ConnectionError,
    "at most",
  );
});

Deno.test("a join above the Server's limit fails with its size, for both roles", async () => {
  await using office = await startOffice({
    server: { maxMessageBytes: MAX_BYTES },
  });
  const { agent, url } = office;
  await agent.leave();
  const computer = office.use(
    new SmcpComputer({ url, name: "pc", servers: [] }),
  );
  await computer.connect();
  for (const client of [agent, computer]) {
    const error = await assertRejects(
      () => client.join("x".repeat(MAX_BYTES)),
      ConnectionError,
      `at most ${MAX_BYTES}`,
    );
    assertEquals(error.code, "too_large");
    await client.join(OFFICE);
  }
  assertEquals((await agent.listRoom()).length, 2);
});

const nested = (levels: number): Record<string, unknown> =>
  levels === 1 ? {} : { inner: nested(levels - 1) };
