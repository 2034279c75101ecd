/**
 * Reading resources and getting prompts: extensions of this package, which older peers do not have.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { ToolHost } from "../../../computer/mod.ts";
import {
  GET_PROMPTS_EVENT,
  ProtocolError,
  READ_RESOURCE_EVENT,
} from "../../../protocol/mod.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { everything, fixture } from "../../support/computer/mcp_servers.ts";
import { startOffice } from "../../support/office.ts";

const FEATURES = "demo://resource/static/document/features.md";

Deno.test({
  name: "an Agent reads any resource of a Computer, and gets its prompts",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    all: everything(),
    none: fixture({ resources: false }),
    off: fixture({}, { disabled: true }),
  });
  const { agent } = pc.office;
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

Deno.test({
  name: "a ToolHost reads resources and gets prompts as an Agent does",
  timeout: 120_000,
}, async () => {
  await using host = new ToolHost({ servers: { all: everything() } });
  await host.start();
  const [contents] = await host.readResource("all", FEATURES);
  assertEquals(contents?.uri, FEATURES);
  const prompts = await host.getPrompts();
  assert(prompts.some(({ name }) => name === "simple-prompt"));
  const { messages } = await host.getPrompt("all", "args-prompt", {
    arguments: { city: "Rome" },
  });
  assert(messages[0]?.content.text?.includes("Rome"));
});

Deno.test({
  name: "an answer that is larger than the Server takes is one clear error",
  timeout: 120_000,
}, async () => {
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

Deno.test("a peer that refuses the extension is named as an older one", async () => {
  const refusals = [
    `This Computer does not answer ${READ_RESOURCE_EVENT}`,
    `Unknown event "${READ_RESOURCE_EVENT}"`, // as a Server says it
  ];
  for (const refusal of refusals) {
    await using office = await startOffice({
      computers: {
        pc: (event) => {
          if (event !== READ_RESOURCE_EVENT) return { tools: [], req_id: "1" };
          throw new ProtocolError(400, refusal);
        },
      },
    });
    const error = await assertRejects(
      () => office.agent.readResource("pc", "s", "x:y"),
      ProtocolError,
      `${refusal}: its version lacks this extension; upgrade it`,
    );
    assertEquals(error.code, 400);
  }
});

Deno.test("a Computer that does not answer the extension may be an older one", async () => {
  await using office = await startOffice({
    computers: {
      pc: (event) =>
        event === GET_PROMPTS_EVENT
          ? new Promise(() => {})
          : { tools: [], req_id: "1" },
    },
  });
  const error = await assertRejects(
    () => office.agent.getPrompts("pc", { timeoutMs: 1_000 }),
    ProtocolError,
    "without the extension client:get_prompts does not answer",
  );
  assertEquals(error.code, 408);
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
