import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { start } from "../support/child.ts";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { scratch } from "../support/scratch.ts";
import { startServerCommand } from "../support/server/server_command.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

const PASSWORD = "s3cret-of-redis";

Deno.test("smcp-server --cluster exits with one line, without the password, where the address, a file or Redis cannot be used", async () => {
  const gone = await startRedis();
  await gone[Symbol.asyncDispose]();
  const user = `user node on >${PASSWORD} ~* &* +@all`;
  await using guarded = await startRedis({ acl: [user] });
  await using weak = await startRedis({ acl: [`${user} -eval -evalsha`] });
  const rows: readonly (readonly [code: number, text: string, ...string[]])[] =
    [
      [
        1,
        `Cannot reach Redis at ${new URL(gone.url).host}`,
        gone.url.replace("//", `//:${PASSWORD}@`),
      ],
      [1, "WRONGPASS", guarded.urlOf("node", `${PASSWORD}x`)],
      [1, "NOPERM", weak.urlOf("node", PASSWORD)],
      [2, "Cannot use the URL of Redis", "http://127.0.0.1"],
      [
        2,
        "Cannot read /missing.pem, the file of --cluster-ca: there is no such file",
        ...["rediss://127.0.0.1:1", "--cluster-ca=/missing.pem"],
      ],
      [
        2,
        'Cannot use the name "a.b" in a cluster',
        ...["redis://127.0.0.1:1", "--cluster-name=a.b"],
      ],
      [2, "4 to 3600", "redis://127.0.0.1:1", "--cluster-lease=1"],
    ];
  for (const [code, text, url = "", ...flags] of rows) {
    const env = { SMCP_CLUSTER: url };
    await using server = await startServerCommand(["--port=0", ...flags], env);
    const exit = await server.exited;
    const error = server.log.trim();
    assertEquals([exit, server.line], [code, ""], error);
    assertStringIncludes(error, text);
    assert(!error.includes(PASSWORD), error);
    // Redis took the user: its refusals are logged before.
    assertEquals(/\n/.test(error), text === "NOPERM", error);
  }
});

Deno.test("two commands with --cluster are one server, by TLS with a certificate, and leave at SIGTERM", async () => {
  const authority = await newAuthority("authority");
  const certificate = await newCertificate("redis", authority);
  const client = await newCertificate("node", authority);
  await using redis = await startRedis({
    tls: { ...certificate, ca: authority.cert, clientCa: authority.cert },
  });
  await using folder = await scratch();
  const file = async (name: string, text: string) => {
    const path = join(folder.path, name);
    await Deno.writeTextFile(path, text);
    return path;
  };
  const flags = [
    "--port=0",
    `--cluster=${redis.url}`,
    `--cluster-ca=${await file("ca.pem", authority.cert)}`,
    `--cluster-cert=${await file("cert.pem", client.cert)}`,
    `--cluster-key=${await file("key.pem", client.key)}`,
  ];
  await using first = await startServerCommand(flags);
  await using second = await startServerCommand([
    ...flags,
    "--cluster-name=web-2",
  ]);
  await using agent = await joinRaw(first.url, "agent", "agent", "office");
  await using _ = await joinRaw(second.url, "computer", "pc", "office");
  await agent.next("notify:enter_office");
  const ready = await fetch(`${second.url}/ready`);
  assertEquals(await ready.json(), { status: "ready" });
  const { cluster } = await (await fetch(`${second.url}/health`)).json();
  assertEquals([cluster.redis, cluster.nodes], ["connected", 2]);
  await first.logged('(\\"web-2\\") is in the cluster');
  second.kill("SIGTERM");
  assertEquals(await second.exited, 0);
  await agent.next("notify:leave_office");
  await first.logged('(\\"web-2\\") has left the cluster');
});

Deno.test("a password in the flag is warned of, and never logged", async () => {
  await using redis = await startRedis({
    acl: [`user node on >${PASSWORD} ~* &* +@all`],
  });
  const url = redis.urlOf("node", PASSWORD);
  await using visible = await startServerCommand([
    "--port=0",
    `--cluster=${url}`,
  ]);
  await visible.logged("the variable SMCP_CLUSTER instead");
  await using hidden = await startServerCommand(["--port=0"], {
    SMCP_CLUSTER: url,
  });
  assert(!hidden.log.includes("SMCP_CLUSTER"), hidden.log);
  for (const { log, line } of [visible, hidden]) {
    assert(!(log + line).includes(PASSWORD), log);
  }
});

Deno.test("smcp up --cluster shares its office with other servers", async () => {
  await using redis = await startRedis();
  await using folder = await scratch();
  const config = join(folder.path, "computer.json");
  await Deno.writeTextFile(config, '{"mcpServers": {}}');
  await using up = start(Deno.execPath(), [
    ...["run", "-A", "--frozen", "main.ts", "up", "--port=0", "--no-mcp"],
    ...["--name=pc", "--office=home", "--plain", `--config=${config}`],
    `--cluster=${redis.url}`,
  ]);
  await up.line(/joined office home/);
  await using server = await startServerCommand([
    "--port=0",
    "--protocol=all",
    `--cluster=${redis.url}`,
  ]);
  await using agent = await joinRaw(server.url, "agent", "agent", "home");
  const { sessions } = await agent.ask("server:list_room", {
    agent: "agent",
    office_id: "home",
    req_id: "r",
  }) as { sessions: { name: string }[] };
  assertEquals(sessions.map(({ name }) => name), ["agent", "pc"]);
});
