/**
 * Reading resources, getting prompts, and `_meta` of calls: extensions of this package, which older peers do not have.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { CLIENT_PROTOCOLS } from "../../../client/versions.ts";
import { ProtocolError, READ_RESOURCE_EVENT } from "../../../protocol/mod.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { createMetaServer } from "../../support/fixtures/meta_server.ts";
import { startOffice } from "../../support/office.ts";

const FEATURES = "demo://resource/static/document/features.md";

Deno.test("an Agent reads any resource of a Computer, and gets its prompts", async () => {
  await using pc = await startComputer({
    all: everything(),
    none: fixture({ resources: false }),
    off: fixture({}, { disabled: true }),
  });
  const { computer, office: { agent } } = pc;
  const [text] = await agent.readResource("pc", "all", FEATURES);
  assertEquals(text?.uri, FEATURES);
  assert(text?.text?.includes("Features"));
  const [blob] = await agent.readResource(
    "pc",
    "all",
    "demo://resource/dynamic/blob/1",
    { timeoutMs: 110_500 },
  );
  assert(atob(blob?.blob ?? "").includes("Resource 1"));
  const prompts = await agent.getPrompts("pc");
  assertEquals(
    prompts.map(({ name, mcp_server }) => [name, mcp_server]).slice(0, 2),
    [["simple-prompt", "all"], ["args-prompt", "all"]],
  );
  const { messages } = await agent.getPrompt("pc", "all", "args-prompt", {
    arguments: { city: "Paris" },
  });
  assert(messages[0]?.content.text?.includes("Paris"));
  // The Computer's own methods do the same.
  const [own] = await computer.readResource("all", FEATURES);
  assertEquals(own, text);
  assert(
    (await computer.getPrompts()).some(({ name }) => name === "args-prompt"),
  );
  const rome = await computer.getPrompt("all", "args-prompt", {
    arguments: { city: "Rome" },
  });
  assert(rome.messages[0]?.content.text?.includes("Rome"));
  const rows: [number, () => Promise<unknown>][] = [
    [400, () => agent.readResource("pc", "all", "demo://nothing")],
    [404, () => agent.readResource("pc", "nobody", FEATURES)],
    [404, () => agent.readResource("pc", "off", FEATURES)],
    [4015, () => agent.readResource("pc", "none", FEATURES)],
    [4015, () => agent.getPrompt("pc", "none", "p")],
    [400, () => agent.getPrompt("pc", "all", "nothing")],
    [404, () => agent.getPrompts("nobody")],
  ];
  for (const [code, ask] of rows) {
    const error = await assertRejects(ask, ProtocolError);
    assertEquals(error.code, code, error.message);
  }
});

Deno.test("an answer that is larger than the Server takes is one clear error", async () => {
  await using pc = await startComputer({ fix: fixture() }, {}, {
    server: { maxMessageBytes: 20_000 },
  });
  const wire = await takeSeat(pc.office);
  const uri = `x:${"y".repeat(8_000)}`; // comes back twice
  const error = await assertRejects(
    () => wire.ask(READ_RESOURCE_EVENT, { mcp_server: "fix", uri: uri + uri }),
    ProtocolError,
    "The answer cannot be sent",
  );
  assertEquals(error.code, 500);
});

Deno.test("a peer that refuses the extension, or does not answer it, is named as an older one", async () => {
  const lacks = "its version lacks this extension; upgrade it";
  const refusals = [
    "This Computer does not answer client:read_resource",
    'Unknown event "client:read_resource"', // as a Server says it
  ];
  for (const refusal of [...refusals, undefined]) {
    await using office = await startOffice({
      computers: {
        pc: (event) => {
          if (event === "client:get_tools") return { tools: [], req_id: "1" };
          if (refusal === undefined) return new Promise(() => {});
          throw new ProtocolError(400, refusal);
        },
      },
    });
    const { code, message } = await assertRejects(
      () => office.agent.readResource("pc", "s", "x:y", { timeoutMs: 1_000 }),
      ProtocolError,
    );
    assertEquals(code, refusal === undefined ? 408 : 400);
    assertStringIncludes(
      message,
      refusal === undefined
        ? "without the extension client:read_resource does not answer"
        : `${refusal}: ${lacks}`,
    );
  }
});

Deno.test("an extension's request is checked before it is sent", async () => {
  await using agent = new SmcpAgent({ url: "http://127.0.0.1:1", name: "a" });
  for (const timeoutMs of [0, 3_600_001, NaN]) {
    const error = await assertRejects(
      () => agent.getPrompts("pc", { timeoutMs }),
      ProtocolError,
      "timeoutMs: ",
    );
    assertEquals(error.code, 400);
  }
  const bad = await assertRejects(
    () => agent.readResource("pc", "", "x:y"),
    ProtocolError,
  );
  assertEquals(bad.code, 400);
  await assertRejects(() => agent.getPrompts("pc"), ConnectionError);
});

Deno.test("_meta of a call reaches the MCP server between all versions, without the keys of MCP; a call without it has none", async () => {
  await using office = await startOffice({ server: { protocol: "all" } });
  await office.agent.leave();
  for (const protocol of CLIENT_PROTOCOLS) {
    const server = createMetaServer();
    const servers = { meta: { type: "in-process" as const, server } };
    await office.addComputer(`pc ${protocol}`, { servers, protocol });
  }
  const meta = {
    traceparent: "00-1",
    "com.example/deep": { list: [1, null, { a: "é" }] },
  };
  const ofMcp = { progressToken: 1, "io.modelcontextprotocol/x": 2 };
  for (const protocol of CLIENT_PROTOCOLS) {
    const { url } = office;
    await using agent = new SmcpAgent({ url, protocol, name: "planner" });
    await agent.connect();
    await agent.join("north");
    await agent.toolsSettled();
    for (const [computer, [tool]] of agent.tools) {
      const textOf = async (options: object) => {
        const name = tool?.name ?? "";
        const result = await agent.callTool(computer, name, {}, options);
        return result.content[0]?.text;
      };
      const text = await textOf({ meta: { ...meta, ...ofMcp } });
      assertEquals(JSON.parse(text ?? ""), meta, computer);
      assertEquals(await textOf({}), "", computer);
      const followed = await textOf({ meta, onProgress: () => {} });
      const { progressToken, ...rest } = JSON.parse(followed ?? "");
      assertEquals([typeof progressToken, rest], ["number", meta], computer);
    }
  }
});

Deno.test("_meta that is no object, or too large, is refused by the Server with the name of the field", async () => {
  await using office = await startOffice({
    computers: { pc: () => ({ tools: [], content: [], req_id: "1" }) },
  });
  const wire = await takeSeat(office);
  const call = { tool_name: "echo", params: {}, timeout: 30 };
  for (const _meta of ["text", [1], { a: "x".repeat(8_192) }]) {
    const error = await assertRejects(
      () => wire.ask("client:tool_call", { ...call, _meta }),
      ProtocolError,
      "_meta: Invalid input: expected object of at most 8192 bytes",
    );
    assertEquals(error.code, 400);
  }
});
