import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import { CLIENTS, isCancelled, type Reach } from "../../support/mcp/clients.ts";
import {
  inProcess,
  type OfficeServed,
  pipeCommand,
  serveOffice,
} from "../../support/mcp/gateway.ts";
import { JSON_HEADERS, modernRequest } from "../../support/mcp/post.ts";
import { OFFICE } from "../../support/office.ts";

const PROGRAM = fileURLToPath(
  new URL("../../support/fixtures/mcp_office.ts", import.meta.url),
);

/** The ways to an office. */
const WAYS: Record<string, (served: OfficeServed) => Reach | Promise<Reach>> = {
  HTTP: ({ url }) => ({ url }),
  "in process": ({ mcp }) => inProcess(mcp),
  "smcp-agent mcp": ({ url }) => pipeCommand(url),
  stdio: async ({ office }) => {
    await office.agent.leave(); // the program needs the seat
    return {
      command: Deno.execPath(),
      args: ["run", "-A", "--quiet", PROGRAM, office.url, OFFICE],
    };
  },
};

for (const [kind, connect] of Object.entries(CLIENTS)) {
  for (const [way, reach] of Object.entries(WAYS)) {
    Deno.test(`${kind}, ${way}: lists and calls, cancels an aborted call at the MCP server, and notifies of changes`, async () => {
      await using office = await serveOffice({ mcp: { heartbeatMs: 10 } });
      await using client = await connect(await reach(office));
      for (const part of ['in the office "north"', "Computers: pc ("]) {
        assertStringIncludes(client.instructions ?? "", part);
      }
      const tools = await client.tools();
      const [echo] = tools;
      assertEquals([echo?.name, echo?.description], [
        "pc__echo",
        "[pc] does echo",
      ]);
      const { content } = await client.call("pc__echo", { text: "hello" });
      assertEquals(content, [{ type: "text", text: "hello" }]);

      const abort = new AbortController();
      const alive = Promise.withResolvers<void>();
      const slow = client.call("pc__slow", {}, {
        signal: abort.signal,
        onprogress: () => alive.resolve(),
      });
      await client.call("pc__slow_began");
      if (way !== "stdio") await alive.promise; // its first progress takes 5 seconds
      abort.abort(new Error("enough"));
      await assertRejects(() => slow);
      await isCancelled(client.call("pc__slow_aborted"));

      await client.listening();
      await office.computer.leave();
      await client.changed(1);
      assertEquals(await client.tools(), []);
      const away = await client.call("pc__echo", { text: "hello" });
      assertEquals([away.isError, away._meta?.error_code], [true, 404]);
      assertMatch(
        String(away.content[0]?.text),
        /^pc is away since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC; its tools return when it reconnects$/,
      );
      await office.computer.join(OFFICE);
      await client.changed(2);
      assertEquals(await client.tools(), tools);
      await client.terminate();
    });

    Deno.test(`${kind}, ${way}: a client that closes cancels its calls`, async () => {
      // Before 2026 the end of a stream cancels nothing: the session has to be left.
      await using office = await serveOffice({ mcp: { abandonedMs: 100 } });
      const client = await connect(await reach(office));
      const slow = client.call("pc__slow").catch(() => {});
      await client.call("pc__slow_began");
      await client.close(); // waits for the end of a program
      await slow;
      await isCancelled(office.computer.callTool("slow_aborted"));
      if (way === "stdio") await office.office.agent.join(OFFICE);
    });
  }

  if (kind === "v2, 2026") continue; // it has no session
  Deno.test(`${kind}: a client that ends its session cancels its calls`, async () => {
    await using office = await serveOffice();
    const client = await connect(office);
    const slow = client.call("pc__slow").catch(() => {});
    await client.call("pc__slow_began");
    await client.terminate();
    await isCancelled(office.computer.callTool("slow_aborted"));
    await client.close();
    await slow;
  });
}

Deno.test("the first request of a connection is cancelled when its client goes", async () => {
  await using office = await serveOffice();
  const agent = new Agent(); // a connection of its own
  const { headers, body } = modernRequest("tools/call", { name: "pc__slow" });
  const sent = request(office.url, {
    agent,
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
  });
  const closed = new Promise<void>((resolve) => sent.on("close", resolve));
  sent.on("error", () => {});
  sent.end(body);
  await office.computer.callTool("slow_began");
  sent.destroy();
  await closed;
  agent.destroy();
  await isCancelled(office.computer.callTool("slow_aborted"));
});
