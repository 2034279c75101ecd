/**
 * Reading resources and getting prompts: extensions of this package, which older peers do not have.
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
import { ProtocolError, READ_RESOURCE_EVENT } from "../../../protocol/mod.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
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
