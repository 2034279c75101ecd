import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { start } from "../support/child.ts";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { scratch } from "../support/scratch.ts";
import { startServerCommand } from "../support/server/server_command.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

const PASSWORD = "s3cret-of-redis";

/** How a command fails: its exit code and the line that says why. */
async function failureOf(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  await using server = await startServerCommand(["--port=0", ...args], env);
  const code = await server.exited;
  return { code, line: server.line, error: server.log.trim() };
}

Deno.test("smcp-server --cluster exits with 1 and one line where Redis cannot be reached or refuses, without the password", async () => {
  const redis = await startRedis();
  const { url } = redis;
  await redis[Symbol.asyncDispose]();
  const away = await failureOf([], {
    SMCP_CLUSTER: url.replace("//", `//:${PASSWORD}@`),
  });
  assertEquals([away.code, away.line], [1, ""]);
  const { host } = new URL(url);
  assertStringIncludes(away.error, `Cannot reach Redis at ${host}`);
  assert(!away.error.includes(PASSWORD), away.error);
  assertEquals(away.error.split("\n").length, 1, away.error);

  await using guarded = await startRedis({
    acl: [`user node on >${PASSWORD} ~* &* +@all`],
  });
  const wrong = await failureOf([], {
    SMCP_CLUSTER: guarded.urlOf("node", `${PASSWORD}x`),
  });
  assertEquals(wrong.code, 1);
  assertStringIncludes(wrong.error, "WRONGPASS");
  assert(!wrong.error.includes(PASSWORD), wrong.error);
});

Deno.test("smcp-server --cluster exits with 2 where the address, a file or the name cannot be used", async () => {
  const mistakes: readonly (readonly [string[], string])[] = [
    [["--cluster=http://127.0.0.1"], "Cannot use the URL of Redis"],
    [
      ["--cluster=rediss://127.0.0.1:1", "--cluster-ca=/missing.pem"],
      "Cannot read /missing.pem, the file of --cluster-ca: there is no such file",
    ],
    [
      ["--cluster=redis://127.0.0.1:1", "--cluster-name=a.b"],
      'Cannot use the name "a.b" in a cluster',
    ],
    [["--cluster=redis://127.0.0.1:1", "--cluster-lease=1"], "4 to 3600"],
    [["--cluster-ca=ca.pem"], "--cluster-ca does nothing without --cluster"],
  ];
  for (const [flags, message] of mistakes) {
    const { code, error } = await failureOf(flags);
    assertEquals(code, 2, error);
    assertStringIncludes(error, message);
  }
});

Deno.test("smcp-server exits with 1 where the user of Redis lacks rights, and says which", async () => {
  await using redis = await startRedis({
    acl: [`user node on >${PASSWORD} ~* &* +@all -eval -evalsha`],
  });
  const { code, error } = await failureOf([], {
    SMCP_CLUSTER: redis.urlOf("node", PASSWORD),
  });
  assertEquals(code, 1, error);
  assertStringIncludes(error, "NOPERM");
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
