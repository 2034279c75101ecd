import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { createMetrics, createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { tryReadSettings } from "../../support/server/read_settings.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
} from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const BOTH = { protocol: ["0.2", "0.4"] } as const;

const pollingHead = (query: string) => [
  `GET /smcp/?EIO=4&transport=polling${query} HTTP/1.1`,
  "Host: 127.0.0.1",
];

Deno.test("the version table holds against a server of 0.2 and 0.4, over polling and upgrade (protocol §2, §14)", async () => {
  await using server = createSmcpServer(BOTH);
  const { port } = await server.listen();
  const mismatch = (client: string) =>
    `{"code":4008,"message":"Protocol version mismatch","server_version":"0.4.0","client_version":"${client}","min_supported":"0.2.0","max_supported":"0.4.999"}`;
  const missing =
    '{"code":400,"message":"Missing a2c_version query parameter"}';
  const table: [query: string, body: string | undefined][] = [
    ...["0.2.0", "0.2.1", "0.4.0", "0.4.9"].map((
      version,
    ): typeof table[0] => [`&a2c_version=${version}`, undefined]),
    ...["0.1.5", "0.3.0", "0.5.0", "1.0.0", "1.2.0"].map((
      version,
    ): typeof table[0] => [`&a2c_version=${version}`, mismatch(version)]),
    ["", missing],
  ];
  for (const [query, body] of table) {
    const answers = [
      await rawHttp(port, pollingHead(query)),
      await rawHttp(
        port,
        upgradeHead(`/smcp/?EIO=4&transport=websocket${query}`),
      ),
    ];
    const statuses = answers.map(({ status }) => status);
    assertEquals(statuses, body ? [400, 400] : [200, 101], query);
    if (body === undefined) continue;
    for (const answer of answers) {
      assertEquals(answer.body, body, query);
      const code = body === missing ? undefined : "4008";
      assertEquals(answer.headers["x-a2c-error-code"], code);
    }
  }
  for (const invalid of ["abc", "1.2", "0.2.0&a2c_version=0.4.0"]) {
    const head = pollingHead(`&a2c_version=${invalid}`);
    const { status, body } = await rawHttp(port, head);
    assertEquals([status, JSON.parse(body).code], [400, 400], invalid);
  }
});

Deno.test("a session keeps the version of its first request, whatever its later ones say (protocol §2)", async () => {
  await using server = createSmcpServer(BOTH);
  const { url } = await server.listen();
  const at = (query: string) =>
    `${url}/smcp/?EIO=4&transport=polling&a2c_version=${query}`;
  const body = await (await fetch(at("0.2.0"))).text();
  const { sid } = JSON.parse(body.slice(body.indexOf("{")));
  const join = { role: "computer", name: "pc", office_id: "north" };
  const event = JSON.stringify(["server:join_office", join]);
  for (const packet of ["40/smcp,", `42/smcp,0${event}`]) {
    const other = at(`0.4.0&sid=${sid}`);
    await (await fetch(other, { method: "POST", body: packet })).text();
  }
  const client = { url, version: "0.4.0" };
  await using agent = await joinRaw(client, "agent", "agent", "north");
  const list = { agent: "agent", req_id: "1", office_id: "north" };
  let sessions: { a2c_version: string }[] = [];
  while (sessions.length < 2) {
    ({ sessions } = Object(await agent.ask("server:list_room", list)));
  }
  const versions = sessions.map(({ a2c_version }) => a2c_version);
  assertEquals(versions, ["0.4.0", "0.2.0"]);
});

Deno.test("sessions of an address count together, whatever their versions (protocol §14)", async () => {
  const limits = { connectionsPerAddress: 2 };
  await using server = createSmcpServer({ ...BOTH, limits });
  const { url } = await server.listen();
  await using _first = await connectRaw(url, { version: "0.2.0" });
  await using _second = await connectRaw(url, { version: "0.4.0" });
  for (const version of ["0.2.0", "0.4.0"]) {
    await using third = new RawClient(url, {
      version,
      transports: ["polling"],
    });
    const error = await third.connected().catch((error) => error);
    assertEquals(error.context?.status, 429);
  }
});

Deno.test("/health of several versions counts each; of one version it is as before, and so are /metrics (protocol §14)", async () => {
  await using server = createSmcpServer({
    ...BOTH,
    metrics: createMetrics(),
  });
  const { url } = await server.listen();
  const client = { url, version: "0.4.0" };
  await using _member = await joinRaw(client, "computer", "pc", "north");
  const one = { connections: 1, offices: 1, members: 1 };
  const { limits, ...health } = await (await fetch(`${url}/health`)).json();
  assertEquals(limits.message_bytes, 8 * 2 ** 20);
  assertEquals(health, {
    status: "ok",
    protocol_version: "0.4.0",
    protocol_versions: ["0.2.0", "0.4.0"],
    ...one,
    protocols: {
      "0.2": { connections: 0, offices: 0, members: 0 },
      "0.4": one,
    },
  });
  const text = await (await fetch(`${url}/metrics`)).text();
  for (
    const sample of [
      "smcp_members 1",
      'smcp_events_total{event="server:join_office",outcome="ok"} 1',
    ]
  ) assert(text.includes(sample), text);

  await using alone = createSmcpServer({ metrics: createMetrics() });
  const { url: base } = await alone.listen();
  assertStringIncludes(
    await (await fetch(`${base}/health`)).text(),
    '{"status":"ok","protocol_version":"0.2.0","connections":0,"offices":0,"members":0,"limits":{"message_bytes":8388608,"events":{',
  );
  const plain = await (await fetch(`${base}/metrics`)).text();
  assert(
    plain.includes("smcp_members 0") && !plain.includes("protocol="),
    plain,
  );
});

Deno.test("a refused version is audited with both versions (protocol §2)", async () => {
  using log = captureLog();
  await using server = createSmcpServer(BOTH);
  const { url } = await server.listen();
  const query = "EIO=4&transport=polling&a2c_version=0.3.1";
  await (await fetch(`${url}/smcp/?${query}`)).body?.cancel();
  assertEquals(
    log.audit.map(({ event, code, reason }) => [event, code, reason]),
    [[
      "handshake_refused",
      4008,
      'Protocol version mismatch: client "0.3.1", server "0.4.0"',
    ]],
  );
});

Deno.test("createSmcpServer() refuses versions that there are not", () => {
  for (const protocol of ["0.5", "", [], ["0.2", "x"]]) {
    assertThrows(
      () => Reflect.apply(createSmcpServer, undefined, [{ protocol }]),
      TypeError,
      "expected one or more of",
    );
  }
});

Deno.test("--protocol takes a list, all, and nothing else (protocol §14)", async () => {
  const rows: [value: string, versions: readonly string[] | undefined][] = [
    ["0.4", ["0.4"]],
    ["0.4, 0.2,0.4", ["0.2", "0.4"]],
    ["all", ["0.1", "0.2", "0.3", "0.4"]],
    ...["0.2,0.9", "", "0.2;0.4", "0.2,"].map((
      value,
    ): typeof rows[0] => [value, undefined]),
  ];
  for (const [value, versions] of rows) {
    const read = await tryReadSettings([`--protocol=${value}`]);
    assertEquals(
      [read.settings?.protocol, read.exitCode],
      [versions, versions ? 0 : 2],
      value,
    );
  }
  const args = ["--port=0", "--protocol=0.4,0.2"];
  await using command = await startServerCommand(args);
  const start = "A2C-SMCP 0.2.0, 0.4.0 server";
  assertEquals(command.line.slice(0, start.length), start);
});
