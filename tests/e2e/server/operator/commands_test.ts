import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { createHash } from "node:crypto";
import {
  chmod,
  chown,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createSmcpServer } from "../../../../server/mod.ts";
import { start } from "../../../support/child.ts";
import {
  argumentsOf,
  runHere,
  runMain,
  startMain,
} from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { scratch } from "../../../support/scratch.ts";
import {
  nextRequest,
  operate,
} from "../../../support/server/operator_client.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";
import { rawHttp } from "../../../support/wire/raw_http.ts";

const timeout = 240_000;

Deno.test({
  name:
    "operators of a Server on loopback use the token that it prints: offices, members, calls, cancel, kick, watch",
  timeout,
}, async () => {
  await using server = await startServerCommand(["--port", "0"]);
  const { url } = server;
  const token = await server.printed("with the token ");
  assertMatch(token, /^[0-9a-f]{64}$/);
  const env = { SMCP_URL: url, SMCP_TOKEN: token };
  const run = (...args: string[]) =>
    runHere("server", [...args, "--url", url, "--token", token]);
  /** The first words of what a command writes, which ends so. */
  const end = (
    { code, stdout, stderr }: Awaited<ReturnType<typeof run>>,
  ) => [code, stdout, stderr.split("; ")[0]];

  const none = await runMain("server", ["offices"], { env });
  assertEquals(none.stdout, "no office that you may see has members\n");
  await using watching = startMain("server", ["watch", "north"], env);
  await watching.line(/^watching the office "north"/);
  {
    const odd = "two\u2028lines"; // a line end in JavaScript, but none in a stream of events
    await using _ = await joinRaw(url, "computer", odd, "north");
    await watching.line(/north joined .*name=.*two/);
  }
  await using computer = await joinRaw(url, "computer", "pc", "north");
  await using agent = await joinRaw(url, "agent", "planner", "north");
  const called = nextRequest(computer);
  const answer = agent.ask("client:tool_call", {
    agent: "planner",
    req_id: "r1",
    computer: "pc",
    tool_name: "wait",
    params: {},
    timeout: 600, // longer than all the commands about it
  });
  await called;

  assertMatch(
    (await run("offices")).stdout,
    /^OFFICE +AGENT +COMPUTERS.*\nnorth +planner +1 +1\n$/,
  );
  const members = JSON.parse((await run("members", "north", "--json")).stdout);
  assertEquals(
    members.map((m: Record<string, unknown>) => [m.name, m.role]),
    [["planner", "agent"], ["pc", "computer"]],
  );
  assertMatch(
    (await run("members", "north")).stdout,
    /\npc +computer +0\.2\.0 +\d{4}-.* 1 \(1\) .*127\.0\.0\.1/,
  );
  assertMatch(
    (await run("calls", "north")).stdout,
    /\nr1 +planner +pc +wait +\d+\.\d +- +-\n$/,
  );
  const cancel = () => run("cancel", "north", "r1", "--reason", "enough");
  assertEquals(end(await cancel()), [0, "cancelled: r1\n", ""]);
  assertEquals(await answer, {
    code: 403,
    message: "Cancelled by an operator: enough",
  });
  await watching.line(
    /^\d\d:\d\d:\d\d north call_ended .*req_id=r1.*outcome=cancelled ended_by=operator/,
  );
  const noCall = "error: req_id: no pending call has it";
  assertEquals(end(await cancel()), [1, "", noCall]);

  const gone = computer.disconnected();
  const kick = () => run("kick", "north", "pc", "--reason", "rest");
  assertEquals(end(await kick()), [0, "kicked: pc\n", ""]);
  await gone;
  await using back = await connectRaw(url);
  const refused = [false, "Kicked by an operator: rest"];
  assertEquals(await back.join("computer", "pc", "north"), refused);
  const noMember = "error: no member of this name in north: pc";
  assertEquals(end(await kick()), [1, "", noMember]);
  assert(!server.log.includes(token), "the token is in the log");
});

Deno.test({
  name:
    "key add prints a key once and stores its hash, which the Server takes at SIGHUP; key revoke ends it",
  timeout,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const run = (...args: string[]) =>
    runMain("server", ["key", ...args], { env: { SMCP_API_KEYS: file } });
  const first = await run("add", "ops", "--roles", "operator");
  assertEquals([first.code, first.stderr.includes("SIGHUP")], [0, true]);
  const ops = first.stdout.trim();
  assertMatch(ops, /^[0-9a-f]{64}$/);
  const hash = createHash("sha256").update(ops).digest("hex");
  assertEquals(JSON.parse(await readFile(file, "utf8")), [
    { id: "ops", key: `sha256:${hash}`, roles: ["operator"] },
  ]);
  assertEquals((await stat(file)).mode & 0o777, 0o600);
  assertEquals(await readdir(folder.path), ["keys.json"]);

  await using server = await startServerCommand(
    ["--port", "0", "--api-keys", file],
  );
  const added = await run(
    ...["add", "lab", "--roles", "computer", "--offices", "no*,so*", "--json"],
  );
  const { id, key } = JSON.parse(added.stdout);
  assertEquals(id, "lab");
  const list = await run("list");
  assertMatch(list.stdout, /\nlab +computer +no\* so\* +any +hashed +never\n$/);
  assert(!list.stdout.includes(hash));
  server.kill("SIGHUP");
  await server.logged("are reloaded");
  const { url } = server;
  const at = { url, auth: { api_key: key } };
  await using computer = await joinRaw(at, "computer", "pc", "north");
  const gone = computer.disconnected();
  const revoked = await runMain(
    "server",
    ["key", "revoke", "lab", "--url", url, "--api-keys", file],
    { env: { SMCP_API_KEY: ops } },
  );
  assertEquals([revoked.code, revoked.stderr], [0, ""]);
  await gone;
  const left = JSON.parse(await readFile(file, "utf8"));
  assertEquals(left.map(({ id }: { id: string }) => id), ["ops"]);
  assert(!server.out.includes("token"), "a key names operators: no token");
  for (const secret of [ops, key]) assert(!server.log.includes(secret));
});

Deno.test("key revoke takes a key out of its file where no Server runs, or none is asked", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const run = (...args: string[]) => runHere("server", ["key", ...args]);
  const ids = async () =>
    JSON.parse(await readFile(file, "utf8"))
      .map(({ id }: { id: string }) => id);
  for (const id of ["a", "b", "c"]) await run("add", id, "--api-keys", file);
  const revoke = (id: string, ...args: string[]) =>
    run("revoke", id, "--api-keys", file, ...args);
  const unasked = await revoke("a");
  assertEquals([unasked.code, unasked.stdout], [
    0,
    `removed from ${file}: a\n`,
  ]);
  assertMatch(
    unasked.stderr,
    /accepts the key until SIGHUP; add --token or --api-key/,
  );
  assertEquals(await ids(), ["b", "c"]);
  const at = (url: string) => ["--url", url, "--token", "t"];
  const none = await revoke("b", ...at("http://127.0.0.1:1"));
  assertEquals([none.code, none.stdout], [0, `removed from ${file}: b\n`]);
  assertMatch(none.stderr, /^no Server listens at http:\/\/127\.0\.0\.1:1;/);
  assertEquals(await ids(), ["c"]);

  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  const refused = await revoke("c", ...at(url));
  assertEquals([refused.code, refused.stdout], [
    1,
    `removed from ${file}: c\n`,
  ]);
  const both = await run("revoke", "c", "--url", url);
  assertEquals(both.code, 2);
  assertMatch(both.stderr, /no token/);
});

Deno.test("key commands at one time lose no key, and bring none back; the file stays what it was: a link, its owner, its permissions", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const link = join(folder.path, "link.json");
  const key = (...args: string[]) =>
    runMain("server", ["key", ...args, "--api-keys", link]);
  await writeFile(file, JSON.stringify([{ id: "old", key: "k" }]));
  await symlink("keys.json", link);
  await chmod(file, 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(file, 12, 34);
  const before = await stat(file);
  const ids = ["a", "b", "c", "d", "e"];
  const ends = await Promise.all([
    ...ids.map((id) => key("add", id)),
    key("revoke", "old"),
  ]);
  assertEquals(ends.map(({ code }) => code), [0, 0, 0, 0, 0, 0]);
  const left: { id: string }[] = JSON.parse(await readFile(file, "utf8"));
  assertEquals(left.map(({ id }) => id).sort(), ids);
  const { mode, uid, gid } = await stat(file);
  assertEquals({ mode, uid, gid }, {
    mode: before.mode,
    uid: before.uid,
    gid: before.gid,
  });
  assertEquals(await readlink(link), "keys.json");
  assertEquals((await readdir(folder.path)).sort(), ["keys.json", "link.json"]);
});

Deno.test("after key revoke of the last key the Server accepts nobody, at SIGHUP and when it starts", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const { stdout } = await runHere("server", [
    ...["key", "add", "a", "--api-keys", file],
  ]);
  const auth = { api_key: stdout.trim() };
  const command = ["--port", "0", "--api-keys", file];
  await using server = await startServerCommand(command);
  await using client = await connectRaw(server.url, { auth });
  const gone = client.disconnected();
  await runHere("server", ["key", "revoke", "a", "--api-keys", file]);
  server.kill("SIGHUP");
  await server.logged("are reloaded");
  await gone;
  await assertRejects(() => connectRaw(server.url, { auth }));
  await using next = await startServerCommand(command);
  await next.logged("the list is empty");
  await assertRejects(() => connectRaw(next.url, { auth }));
});

Deno.test("key add --expires stores when a key expires, and key list shows it", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const run = (...args: string[]) =>
    runHere("server", ["key", ...args, "--api-keys", file]);
  const before = Date.now();
  const added = await run("add", "guest", "--expires", "90d");
  const [guest] = JSON.parse(await readFile(file, "utf8"));
  assertStringIncludes(added.stderr, `it expires at ${guest.expires}`);
  const days = (Date.parse(guest.expires) - before) / 86_400_000;
  assert(days >= 90 && days < 91, guest.expires);
  await run("add", "old", "--expires", "2999-01-31T00:00:00Z");
  const keys = JSON.parse(await readFile(file, "utf8"));
  assertEquals(keys[1].expires, "2999-01-31T00:00:00.000Z");
  keys[1].expires = "2020-01-31T00:00:00Z";
  await writeFile(file, JSON.stringify(keys));
  const { stdout } = await run("list");
  assertStringIncludes(stdout, guest.expires);
  assertMatch(stdout, /\nold .* expired 2020-01-31T00:00:00Z\n$/);
});

// More mistakes: tests/e2e/commands/mistakes_test.ts
Deno.test({
  name:
    "the commands for operators say in one line what is wrong, and what to do",
  timeout,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  await writeFile(file, '[{"id": "a", "key": "b", "rolls": []}]');
  await using off = await startServerCommand(["--port", "0", "--no-operator"]);
  await using on = await startServerCommand(["--port", "0"]);
  assert(!off.out.includes("token"));
  const to = (url: string) => ["--url", url, "--token", "unknown"];
  const add = ["key", "add", "x", "--api-keys"];
  const expiry = /'--expires <when>' .* is invalid.* Expected a time /;
  const mistakes: readonly [string[], number, RegExp][] = [
    [["offices", ...to("nonsense")], 2, /Cannot connect to "nonsense"/],
    [["offices", ...to(on.url)], 1, /unknown token: .*--token/],
    [["offices", ...to(off.url)], 1, /has no operator API: .*role operator/],
    [
      ["offices", ...to("http://127.0.0.1:1")],
      1,
      /connection refused; .*--url/,
    ],
    [["members", ...to(on.url)], 2, /missing required argument 'office'/],
    [["kick", "north", ...to(on.url)], 2, /missing required argument 'name'/],
    [[...add, "[]"], 2, /name a file/],
    [
      [...add, file],
      2,
      /keys\.json: Cannot read the API keys: the key "a": rolls: unknown field; did you mean "roles"\?/,
    ],
    [
      [...add, `${file}x`, "--roles", "operator", "--names", "a"],
      2,
      /an operator joins nowhere/,
    ],
    [[...add, `${file}x`, "--expires", "2020-01-31T00:00:00Z"], 2, expiry],
    [[...add, `${file}x`, "--expires", "0d"], 2, expiry],
  ];
  for (const [args, code, says] of mistakes) {
    const end = await runHere("server", args);
    assertMatch(end.stderr, says, args.join(" "));
    assertEquals([end.code, end.stdout], [code, ""], args.join(" "));
    assertEquals(end.stderr.trim().split("\n").length, 1, end.stderr);
  }
});

Deno.test("smcp-server completion has the commands for operators, and their help the flags", async () => {
  const { stdout } = await runHere("server", ["completion", "bash"]);
  const help = await runHere("server", ["kick", "--help"]);
  assertEquals(help.code, 0);
  for (
    const [text, words] of [
      [stdout, ["/offices", "/key/add", "/kick"]],
      [help.stdout, ["--hold", "--reason", "--role", "--token"]],
    ] as const
  ) for (const word of words) assertStringIncludes(text, word);
});

Deno.test({
  name:
    "smcp up prints the token of its operators, who may ask its Computer, and logs whom it refuses; with --no-operator there are none",
  timeout,
}, async () => {
  await using config = await configFile({ servers: {} });
  const main = fileURLToPath(new URL("../../../../main.ts", import.meta.url));
  const up = async (...flags: string[]) => {
    const child = start(Deno.execPath(), [
      ...argumentsOf("computer", []).with(-1, main),
      ...["up", "--port=0", "--name=pc", "--config", config.file, ...flags],
    ]);
    const [, url = ""] = await child.line(/ tools --url (\S+) /);
    await child.line(/^joined/);
    return { child, url };
  };
  const { child, url } = await up();
  await using _on = child;
  const [, at, token = ""] = await child.line(
    /^Operators: (.*)\/operator\/v1 with the token ([0-9a-f]{64})$/,
  );
  assertEquals(at, url);
  const path = "/offices/home/computers/pc/config";
  const asked = await operate(url, path, { token });
  assertEquals([asked.status, asked.body.servers], [200, {}]);
  const foreign = await rawHttp(Number(new URL(url).port), [
    "GET /smcp/?EIO=4&transport=polling HTTP/1.1",
    "Host: rebound.example",
  ]);
  assertEquals(foreign.status, 403);
  assertMatch(
    JSON.parse(foreign.body).message,
    /^Host not allowed: use .* localhost; smcp-server lets in others with --hosts/,
  );
  await child.line(
    /handshake_refused.* code=403 reason="Host not allowed: .*rebound\.example.*" address="127\.0\.0\.1"/,
  );
  const off = await up("--no-operator", "--refuse-operators");
  await using _off = off.child;
  assert(!off.child.lines.some((line) => line.includes("Operators")));
  assertEquals((await operate(off.url, path, { token })).status, 404);
});
