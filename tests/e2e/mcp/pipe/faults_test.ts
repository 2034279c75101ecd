import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type AddressInfo, createServer } from "node:net";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { isCancelled } from "../../../support/mcp/cancelled.ts";
import {
  CLIENTS,
  type SeenTool,
  type TestClient,
} from "../../../support/mcp/clients.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";
import { OFFICE } from "../../../support/office.ts";
import { startProxy } from "../../../support/proxy.ts";

/** An office whose Server serves MCP, and whose Agent sits there or not. */
const withGateway = () =>
  startComputer({ fix: fixtureHere() }, {}, {
    server: { gateway: mcpGateway() },
  });

const echo = async (client: TestClient, text: string) => {
  const { content } = await client.call("pc__echo", { text });
  assertEquals(content, [{ type: "text", text }]);
};

const namesOf = (tools: readonly SeenTool[]) => tools.map(({ name }) => name);

/**
 * Waits for a list of tools, which is read once and again whenever its change is told.
 *
 * A client is told more than once where another one begins to answer it, or its tools come late.
 */
async function toolsBecome(client: TestClient, names: readonly string[]) {
  for (;;) {
    const told = client.changes();
    if (namesOf(await client.tools()).join() === names.join()) return;
    await client.changed(told + 1);
  }
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: a Server that ends and has a successor: no client reconnects`, async () => {
    const options = () => ({ gateway: mcpGateway() });
    await using first = createSmcpServer(options());
    await using second = createSmcpServer(options());
    await using proxy = await startProxy((await first.listen({ port: 0 })).url);
    await using computer = new SmcpComputer({
      url: proxy.url,
      name: "pc",
      servers: { fix: fixtureHere() },
      confirm: () => "once",
    });
    await computer.connect();
    await computer.serversSettled();
    await computer.join(OFFICE);
    await using client = await connect(pipeCommand(proxy.url));
    const before = await client.tools();
    await echo(client, "first");
    const slow = client.call("pc__slow").catch((error) => error);
    await client.call("pc__slow_began");

    const back = Promise.withResolvers<void>();
    computer.on("joined", () => back.resolve());
    proxy.turnTo((await second.listen({ port: 0 })).url);
    proxy.cut(); // as a Server does that is killed
    assertStringIncludes(String(await slow), "before the answer");
    await back.promise;
    await toolsBecome(client, namesOf(before));
    assertEquals(await client.tools(), before);
    await echo(client, "second");
  });

  Deno.test(`${kind}, smcp-agent mcp: a Server without MCP: its seat is taken, waited for, and tools come when it is free`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const { office } = running;
    await using client = await connect(pipeCommand(office.url));
    assertStringIncludes(client.instructions ?? "", "stop the other one");
    assertEquals(await client.tools(), []);
    const refused = await client.call("pc__echo", { text: "early" });
    assert(refused.isError);
    await office.agent.leave();
    await client.changed(1);
    await echo(client, "free");
    await client.close();
    await office.agent.join(OFFICE); // it has given the seat up
  });

  Deno.test(`${kind}, smcp-agent mcp: while somebody's Agent has the seat of a Server with MCP, it waits with a reason`, async () => {
    await using running = await withGateway();
    const { office } = running;
    await using client = await connect(pipeCommand(office.url));
    assertStringIncludes(client.instructions ?? "", `its Agent "planner"`);
    assertEquals(await client.tools(), []);
    await office.agent.leave();
    await client.changed(1);
    await echo(client, "free");
    const names = namesOf(await client.tools());
    await running.computer.leave();
    await toolsBecome(client, []);
    await running.computer.join(OFFICE);
    await toolsBecome(client, names);
  });
}

Deno.test("smcp-agent mcp: a Server that is not there yet is found when it is", async () => {
  await using running = await withGateway();
  await running.office.agent.leave();
  // It keeps the port, which a Server of another test might take.
  const nobody = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) =>
    nobody.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = nobody.address() as AddressInfo;
  await using proxy = await startProxy(`http://127.0.0.1:${port}`);
  await using client = await CLIENTS["v2, 2026"]!(pipeCommand(proxy.url));
  assertStringIncludes(client.instructions ?? "", "Cannot reach the Server");
  proxy.turnTo(running.office.url);
  await client.changed(1);
  await echo(client, "there");
  await new Promise((resolve) => nobody.close(resolve));
});

Deno.test("smcp-agent mcp: of five copies at once two are killed; the calls of those end, the others go on", async () => {
  await using running = await withGateway();
  await running.office.agent.leave();
  await using stack = new AsyncDisposableStack();
  const connects = Object.values(CLIENTS);
  const copies = await Promise.all(
    Array.from({ length: 5 }, async (_, i) => {
      const { promise: signal, resolve } = Promise.withResolvers<
        (name: "SIGKILL") => void
      >();
      const connect = connects[i % connects.length]!;
      const started = (signal: (name: "SIGKILL") => void) => resolve(signal);
      const client = stack.use(
        await connect({ ...pipeCommand(running.office.url), started }),
      );
      return { client, kind: i % connects.length, signal: await signal };
    }),
  );
  await Promise.all(copies.map(({ client }, i) => echo(client, `copy ${i}`)));
  const modern = copies.find(({ kind }) => kind === 2)!;
  const others = copies.filter((copy) => copy !== modern);
  const unlucky = others[Math.floor(Math.random() * others.length)]!;
  const slow = modern.client.call("pc__slow").catch((error) => error);
  await modern.client.call("pc__slow_began");
  modern.signal("SIGKILL");
  unlucky.signal("SIGKILL");
  await slow;
  const rest = others.filter((copy) => copy !== unlucky);
  await isCancelled(rest[0]!.client.call("pc__slow_aborted"));
  await Promise.all(rest.map(({ client }, i) => echo(client, `still ${i}`)));
});
