import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { BURST_MS } from "../../../mcp/office/office_view.ts";
import { sha256 } from "../../support/blob_script.ts";
import { createPictures } from "../../support/fixtures/pictures.ts";
import { isCancelled } from "../../support/mcp/cancelled.ts";
import {
  CLIENTS,
  connectV1,
  type SeenResult,
} from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { watchTimers } from "../../support/timers.ts";

/** A time that no other part waits for. */
const TIMEOUT_MS = 54_321;

const textOf = ({ content }: SeenResult) => content[0]?.text;

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: lists and calls the tools of a Computer, over HTTP and in process`, async () => {
    await using office = await serveOffice();
    const inProcess = {
      url: new URL("http://office/mcp"),
      fetch: office.mcp.fetch,
    };
    for (const reach of [office, inProcess]) {
      await using client = await connect(reach);
      const tools = await client.tools();
      const echo = tools.find(({ name }) => name === "pc__echo");
      assertEquals(echo?.description, "[pc] does echo");
      const { content } = await client.call("pc__echo", { text: "hello" });
      assertEquals(content, [{ type: "text", text: "hello" }]);
      assertStringIncludes(
        client.instructions ?? "",
        `in the office "north"`,
      );
      assertStringIncludes(client.instructions ?? "", "Computers: pc (");
      assert(tools.every(({ name }) => /^[\w-]{1,48}$/.test(name)));
      await client.terminate();
    }
  });

  Deno.test(`${kind}: what fails is a result with isError and a code, but an unknown tool is an error`, async () => {
    await using office = await serveOffice();
    await using client = await connect(office);
    await client.tools();
    const failed = await client.call("pc__fail");
    assertEquals([failed.isError, textOf(failed)], [true, "it went wrong"]);
    const thrown = await client.call("pc__throw");
    assertEquals([thrown.isError, thrown._meta?.error_code], [true, 4003]);
    assertStringIncludes(String(textOf(thrown)), "no such luck");
    const meta = await client.call("pc__meta");
    assertEquals(meta._meta?.origin, "fixture");
    assert(!("meta" in meta));
    const error = await assertRejects(() => client.call("pc__unknown"), Error);
    assertStringIncludes(error.message, "Unknown tool: pc__unknown");
    assertEquals("code" in error && error.code, -32602);
  });

  Deno.test(`${kind}: a Computer that went away is told of, and its tools are called again when it is back`, async () => {
    await using office = await serveOffice();
    await using client = await connect(office);
    await client.tools();
    await client.listening();
    await office.computer.leave();
    await client.changed(1);
    assertEquals(await client.tools(), []);
    const away = await client.call("pc__echo", { text: "hello" });
    assertEquals([away.isError, away._meta?.error_code], [true, 404]);
    assertMatch(
      String(textOf(away)),
      /^pc is away since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; its tools come back when it does$/,
    );
    await office.computer.join(office.office.agent.office ?? "");
    await client.changed(2);
    const back = await client.call("pc__echo", { text: "again" });
    assertEquals(textOf(back), "again");
  });

  Deno.test(`${kind}: a Computer that leaves in the middle of a call ends it with a result`, async () => {
    await using office = await serveOffice();
    await using client = await connect(office);
    const slow = client.call("pc__slow");
    await client.call("pc__slow_began");
    await office.computer.close();
    const result = await slow;
    assertEquals([result.isError, result._meta?.error_code], [true, 404]);
  });

  Deno.test(`${kind}: a burst of changes is told once`, async () => {
    await using office = await serveOffice({
      servers: { fix: fixtureHere({ only: ["add_tool", "echo"] }) },
    });
    await using client = await connect(office);
    await client.tools();
    await client.listening();
    const { agent } = office.office;
    const fetched = Promise.withResolvers<void>();
    // On a slow machine the changes come apart, and are more than one burst.
    const bursts: number[] = [];
    agent.on("tools", ({ tools }) => {
      const now = performance.now();
      if (now >= (bursts.at(-1) ?? -Infinity) + BURST_MS - 5) bursts.push(now);
      if (tools?.some(({ name }) => name === "third")) fetched.resolve();
    });
    for (const name of ["first", "second", "third"]) {
      await agent.callTool("pc", "add_tool", { name });
    }
    await fetched.promise;
    await client.changed(1);
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names.slice(2), ["pc__first", "pc__second", "pc__third"]);
    assert(
      client.changes() >= 1 && client.changes() <= bursts.length,
      `told ${client.changes()} times of ${bursts.length} bursts`,
    );
  });

  Deno.test(`${kind}: a long call tells that it runs, and outlives the client's timeout`, async () => {
    await using office = await serveOffice({ mcp: { heartbeatMs: 100 } });
    await using client = await connect(office);
    const messages: (string | undefined)[] = [];
    let timeouts = 0;
    using _ = watchTimers((delay) => delay === TIMEOUT_MS && timeouts++);
    const enough = Promise.withResolvers<void>();
    const abort = new AbortController();
    const slow = client.call("pc__slow", {}, {
      signal: abort.signal,
      timeout: TIMEOUT_MS,
      resetTimeoutOnProgress: true,
      onprogress: ({ message }) => {
        if (messages.push(message) === 5) enough.resolve();
      },
    });
    await Promise.race([enough.promise, slow]);
    // It begins anew with each message.
    assert(timeouts >= messages.length, `${timeouts} of ${messages.length}`);
    assertMatch(messages[0] ?? "", /^running for \d+ s on pc$/);
    abort.abort(new Error("enough"));
    await assertRejects(() => slow);
    await isCancelled(client.call("pc__slow_aborted"));
  });

  Deno.test(`${kind}: 400 calls at once get 400 results through a Server that allows 100 a second`, async () => {
    await using office = await serveOffice({
      mcp: { callsPerSecond: 90, maxCalls: 90 },
      office: {
        server: { limits: { eventsPerSecond: 100, callsPerAgent: 100 } },
      },
    });
    await using client = await connect(office);
    const results = await Promise.all(
      Array.from(
        { length: 400 },
        (_, i) => client.call("pc__echo", { text: String(i) }),
      ),
    );
    assertEquals(
      results.map(textOf),
      Array.from({ length: 400 }, (_, i) => String(i)),
    );
  });

  Deno.test(`${kind}: 100 clients at once get their own answers`, async () => {
    await using office = await serveOffice();
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        await using client = await connect(office);
        return textOf(await client.call("pc__echo", { text: String(i) }));
      }),
    );
    assertEquals(answers, answers.map((_, i) => String(i)));
  });

  Deno.test(`${kind}: with "search" there are two tools, which find and call the others`, async () => {
    await using office = await serveOffice({ mcp: { tools: "search" } });
    await using client = await connect(office);
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names, ["search_tools", "call_tool"]);
    const found = await client.call("search_tools", { query: "echo" });
    const { tools } = JSON.parse(String(textOf(found)));
    assertEquals(tools[0].name, "pc__echo");
    const call = (args: Record<string, unknown>) =>
      client.call("call_tool", args);
    const result = await call({
      name: "pc__echo",
      arguments: { text: "found" },
    });
    assertEquals(textOf(result), "found");
    const unknown = await call({ name: "pc__nothing" });
    assertEquals([unknown.isError, unknown._meta?.error_code], [true, 4001]);
    const wrong = await call({ name: 7 });
    assertEquals([wrong.isError, wrong._meta?.error_code], [true, 400]);
    await assertRejects(() => client.call("pc__echo"), Error, "Unknown tool");
  });
}

Deno.test("400 calls at once get 400 results where the Server allows less than expected", async () => {
  await using office = await serveOffice({
    office: {
      server: { limits: { eventsPerSecond: 100, callsPerAgent: 100 } },
    },
  });
  await using client = await connectV1(office);
  const results = await Promise.all(
    Array.from(
      { length: 400 },
      (_, i) => client.call("pc__echo", { text: String(i) }),
    ),
  );
  assertEquals(results.map(textOf), results.map((_, i) => String(i)));
});

Deno.test("an MCP client gets an image whole that is larger than a message of the Server", async () => {
  await using office = await serveOffice({
    servers: {
      pictures: {
        type: "in-process",
        server: createPictures(),
        default_tool_meta: { auto_apply: true },
      },
    },
    office: { server: { maxMessageBytes: 1_000_000 } },
  });
  await using client = await connectV1(office);
  const [tool] = await client.tools();
  const { content, isError } = await client.call(String(tool?.name), {
    sizes: [3_000_000],
  });
  const [told, image] = content as { text?: string; data?: string }[];
  assertEquals(isError, undefined);
  assertEquals(sha256(Buffer.from(image?.data ?? "", "base64")), told?.text);
});
