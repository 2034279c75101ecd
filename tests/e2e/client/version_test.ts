import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  ConnectionError,
  ProtocolVersionError,
  SmcpAgent,
} from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { OFFICE } from "../../support/office.ts";
import { captureLog } from "../../support/log_capture.ts";
import { startBareServer } from "../../support/server/bare_server.ts";
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

Deno.test("a client without a wish speaks the newest version that the Server lets in, and none is refused (0.4 §18)", async () => {
  for (
    const [protocol, newest] of [
      ["all", "0.4"],
      [["0.1", "0.2", "0.3"], "0.3"],
      [["0.2", "0.4"], "0.4"],
      ["0.2", "0.2"],
    ] as const
  ) {
    using log = captureLog();
    await using server = createSmcpServer({ protocol });
    const { url } = await server.listen({ port: 0 });
    for (const address of [url, url.replace("http:", "ws:")]) {
      await using agent = new SmcpAgent({ url: address, name: "planner" });
      await agent.connect();
      assertEquals(agent.protocol, newest);
    }
    assertEquals(
      log.audit.filter(({ event }) => event === "handshake_refused"),
      [],
    );
  }
});

Deno.test("close() ends a client that asks a silent Server for its versions", async () => {
  const silent = createServer();
  const asked = once(silent, "request");
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const agent = new SmcpAgent({ url: `http://127.0.0.1:${port}`, name: "a" });
  const failed = assertRejects(() => agent.connect(), ConnectionError);
  const [request] = await asked;
  assertEquals(request.url, "/health");
  await agent.close();
  assertEquals((await failed).code, "closed");
  silent.closeAllConnections();
  silent.close();
  await once(silent, "close");
});

for (
  const [what, answer] of [
    ["another program's page", [200, "<html></html>"]],
    ["another program's JSON", [200, "[1]"]],
    ["a long text", [200, "x".repeat(10 ** 6)]],
    ["a redirection", [302, ""]],
    ["not there", [404, '{"protocol_version":"0.4.0"}']],
  ] as const
) {
  Deno.test(`a client begins with 0.2 where /health is ${what}`, async () => {
    await using server = await startBareServer(undefined, answer);
    await using agent = new SmcpAgent({ url: server.url, name: "planner" });
    await agent.connect();
    assertEquals(agent.protocol, "0.2");
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
  await using agent = new SmcpAgent({
    url: proxy.url,
    name: "planner",
    // engine.io-client finds out only by its ping that both transports were lost in an upgrade.
    transports: ["websocket"],
  });
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
