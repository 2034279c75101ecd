import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ProtocolVersionError, SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { versionRefusingServer } from "../../support/wire/version_refusing_server.ts";

for (const protocol of ["0.2", "0.3", "0.4"] as const) {
  Deno.test(`a client without a wish speaks the version of a Server of ${protocol} (0.4 §18)`, async () => {
    await using server = createSmcpServer({ protocol });
    const { url } = await server.listen({ port: 0 });
    await using computer = new SmcpComputer({ url, name: "pc", servers: {} });
    await using agent = new SmcpAgent({ url, name: "planner" });
    const connected: unknown[] = [];
    agent.on("connected", (to) => connected.push(to));
    for (const client of [computer, agent]) {
      await client.connect();
      await client.join(OFFICE);
    }
    assertEquals([agent.protocol, computer.status().protocol], [
      protocol,
      protocol,
    ]);
    assertEquals(connected, [{ reconnected: false }]);
    assertEquals(
      (await agent.listRoom()).map(({ a2c_version }) =>
        a2c_version?.slice(0, 3)
      ),
      [protocol, protocol],
    );
  });
}

Deno.test("a client with a wish speaks no other version, and the error says what helps", async () => {
  await using server = createSmcpServer({ protocol: "0.4" });
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({ url, name: "planner", protocol: "0.2" });
  const error = await assertRejects(
    () => agent.connect(),
    ProtocolVersionError,
    'choose that version with --protocol 0.4 (in code: protocol: "0.4")',
  );
  assertEquals([error.serverVersion, error.clientVersion], ["0.4.0", "0.2.0"]);
  await using modern = new SmcpAgent({ url, name: "other", protocol: "0.4" });
  await modern.connect();
  assertEquals(modern.protocol, "0.4");
});

Deno.test("a client follows a Server that comes back with another version, and rejoins its office", async () => {
  await using before = createSmcpServer();
  await using after = createSmcpServer({ protocol: "0.4" });
  const { url } = await before.listen({ port: 0 });
  await using proxy = await startProxy(url);
  await using agent = new SmcpAgent({ url: proxy.url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  agent.on("joined", resolve);
  proxy.turnTo((await after.listen({ port: 0 })).url);
  proxy.cut();
  assertEquals(await promise, { office: OFFICE, rejoined: true });
  assertEquals([agent.protocol, agent.state], ["0.4", "connected"]);
});

Deno.test("a Server that refuses the version that it names is asked twice, not for ever", async () => {
  await using server = await versionRefusingServer((sent) =>
    sent === "0.2.0" ? "0.4.0" : "0.2.0"
  );
  await using agent = new SmcpAgent({ url: server.url, name: "planner" });
  await assertRejects(() => agent.connect(), ProtocolVersionError);
  assertEquals(server.versions, ["0.2.0", "0.4.0"]);
});

Deno.test("from 0.3 on a connection begins with polling, whatever its user wants (0.4 §1.4)", async () => {
  await using server = createSmcpServer({ protocol: "0.4" });
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({
    url,
    name: "planner",
    transports: ["websocket"],
  });
  await agent.connect();
  assertEquals(agent.protocol, "0.4");
});

Deno.test("the error about a version says what helps against each Server", () => {
  const rows: [server: string, remedy: string][] = [
    ["0.1.2", "start it with --protocol 0.2"],
    ["0.3.0", "--protocol 0.3"],
    ["0.4.9", "--protocol 0.4"],
    [
      "0.5.0",
      "upgrade the older of the two: this package speaks 0.2, 0.3, 0.4",
    ],
    ["unknown", "upgrade the older of the two"],
  ];
  for (const [server, remedy] of rows) {
    assertStringIncludes(
      new ProtocolVersionError(server, "0.2.0").message,
      remedy,
    );
  }
});
