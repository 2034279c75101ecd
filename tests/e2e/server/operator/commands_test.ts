import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { createHash } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import {
  argumentsOf,
  runHere,
  runMain,
  startMain,
} from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { scratch } from "../../../support/scratch.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";
import { operate } from "../../../support/server/operator_client.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";

const timeout = 240_000;

Deno.test({
  name:
    "operators of a Server on loopback use the token that it prints: offices, members, calls, cancel, kick, watch",
  timeout,
}, async () => {
  await using server = await startServerCommand(["--port", "0"]);
  const token = await server.printed("with the token ");
  assertMatch(token, /^[0-9a-f]{64}$/);
  const env = { SMCP_URL: server.url, SMCP_TOKEN: token };
  const at = ["--url", server.url, "--token", token];
  const run = (...args: string[]) => runHere("server", [...args, ...at]);

  const none = await runMain("server", ["offices"], { env });
  assertEquals(none.stdout, "nobody is in any office that you may see\n");
  await using watching = startMain("server", ["watch", "north"], env);
  await watching.line(/^watching the office "north"/);
  {
    const odd = "two\u2028lines"; // a line end in JavaScript, but none in a stream of events
    await using _ = await joinRaw(server.url, "computer", odd, "north");
    await watching.line(/north joined .*name=.*two/);
  }
  await using computer = await joinRaw(server.url, "computer", "pc", "north");
  await using agent = await joinRaw(server.url, "agent", "planner", "north");
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const pending = agent.ask(TOOL_CALL_EVENT, {
    agent: "planner",
    req_id: "r1",
    computer: "pc",
    tool_name: "wait",
    params: {},
    timeout: 600, // longer than all the commands about it
  });
  await called.promise;

  const offices = await run("offices");
  assertMatch(offices.stdout, /^OFFICE +AGENT +COMPUTERS/);
  assertMatch(offices.stdout, /\nnorth +planner +1 +1\n$/);
  const members = JSON.parse((await run("members", "north", "--json")).stdout);
  assertEquals(
    members.map(({ name, role }: { name: string; role: string }) => [
      name,
      role,
    ]),
    [["planner", "agent"], ["pc", "computer"]],
  );
  const table = (await run("members", "north")).stdout;
  assertMatch(
    table,
    /\npc +computer +0\.2\.0 +\d{4}-.* 1 \(1\) .*127\.0\.0\.1/,
  );
  assertMatch(
    (await run("calls", "north")).stdout,
    /\nr1 +planner +pc +wait +\d+\.\d +-\n$/,
  );

  const cancelled = await run("cancel", "north", "r1", "--reason", "enough");
  assertEquals([cancelled.code, cancelled.stdout], [0, "cancelled: r1\n"]);
  assertEquals(await pending, {
    code: 403,
    message: "Cancelled by an operator: enough",
  });
  await watching.line(
    /^\d\d:\d\d:\d\d north call_ended .*req_id=r1.*outcome=cancelled ended_by=operator/,
  );
  const again = await run("cancel", "north", "r1");
  assertEquals(again.code, 1);
  assertMatch(again.stderr, /^error: req_id: no call on its way has it; /);

  const gone = computer.disconnected();
  const kicked = await run("kick", "north", "pc", "--reason", "rest");
  assertEquals([kicked.code, kicked.stdout], [0, "kicked: pc\n"]);
  await gone;
  await using back = await connectRaw(server.url);
  assertEquals(await back.join("computer", "pc", "north"), [
    false,
    "Kicked by an operator: rest",
  ]);
  const nobody = await run("kick", "north", "pc");
  assertEquals(nobody.code, 1);
  assertMatch(nobody.stderr, /^error: no such member is in north: pc; /);
  assert(!server.log.includes(token), "the token is in the log");
});

Deno.test({
  name:
    "key add --expires stores when a key expires, and key list shows it; a time that is past or none is refused",
  timeout,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "keys.json");
  const run = (...args: string[]) =>
    runHere("server", ["key", ...args, "--api-keys", file]);
  const DAY_MS = 86_400_000;
  const before = Date.now();
  const added = await run("add", "guest", "--expires", "90d");
  const [guest] = JSON.parse(await readFile(file, "utf8"));
  assertStringIncludes(added.stderr, `it expires at ${guest.expires}`);
  const left = Date.parse(guest.expires) - before;
  assert(left >= 90 * DAY_MS && left < 91 * DAY_MS, guest.expires);
  await run("add", "old", "--expires", "2999-01-31T00:00:00Z");
  const keys = JSON.parse(await readFile(file, "utf8"));
  assertEquals(keys[1].expires, "2999-01-31T00:00:00.000Z");
  keys[1].expires = "2020-01-31T00:00:00Z";
  await writeFile(file, JSON.stringify(keys));
  const { stdout } = await run("list");
  assertStringIncludes(stdout, guest.expires);
  assertMatch(stdout, /\nold .* expired 2020-01-31T00:00:00Z\n$/);
  for (const when of ["2020-01-31T00:00:00Z", "soon", "0d"]) {
    const { code, stderr } = await run("add", "x", "--expires", when);
    assertEquals(code, 2);
    assertMatch(stderr, /'--expires <when>' .* is invalid.* Expected a time /);
  }
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

  await using server = await startServerCommand([
    ...["--port", "0", "--api-keys", file],
  ]);
  const added = await run(
    ...["add", "lab", "--roles", "computer", "--offices", "no*,so*", "--json"],
  );
  const { id, key } = JSON.parse(added.stdout);
  assertEquals(id, "lab");
  const list = await run("list");
  assertMatch(list.stdout, /\nlab +computer +no\* so\* +any +hashed +never\n$/);
  assert(!list.stdout.includes(hash));
  server.kill("SIGHUP");
  await server.logged("are read anew");
  const auth = { auth: { api_key: key } };
  await using computer = await joinRaw(
    ...[{ url: server.url, ...auth }, "computer", "pc", "north"] as const,
  );
  const gone = computer.disconnected();
  const revoked = await runMain(
    "server",
    ["key", "revoke", "lab", "--url", server.url, "--api-keys", file],
    { env: { SMCP_API_KEY: ops } },
  );
  assertEquals([revoked.code, revoked.stderr], [0, ""]);
  await gone;
  const left = JSON.parse(await readFile(file, "utf8"));
  assertEquals(left.map(({ id }: { id: string }) => id), ["ops"]);
  assert(!server.out.includes("token"), "a key names operators: no token");
  for (const secret of [ops, key]) assert(!server.log.includes(secret));
});

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
  const to = (
    url: string,
    token = "unknown",
  ) => ["--url", url, "--token", token];
  const mistakes: readonly [string[], number, RegExp][] = [
    [["offices", "--url", on.url], 2, /no token: .*--token \(SMCP_TOKEN\)/],
    [["offices", ...to("nonsense")], 2, /Cannot connect to "nonsense"/],
    [["offices", ...to(on.url)], 1, /does not know this token: .*--token/],
    [["offices", ...to(off.url)], 1, /has no operator API: .*role operator/],
    [
      ["offices", ...to("http://127.0.0.1:1")],
      1,
      /nobody listens there; .*--url/,
    ],
    [["members", ...to(on.url)], 2, /missing required argument 'office'/],
    [["kick", "north", ...to(on.url)], 2, /missing required argument 'name'/],
    [
      ["key", "add", "x"],
      2,
      /'--api-keys <file>' not specified; .*SMCP_API_KEYS/,
    ],
    [["key", "add", "x", "--api-keys", "[]"], 2, /name a file/],
    [
      ["key", "add", "x", "--api-keys", file],
      2,
      /keys\.json: Cannot read the API keys: the key "a": rolls: unknown field; did you mean "roles"\?/,
    ],
    [["key", "list", "--api-keys", `${file}x`], 2, /does not exist; .*key add/],
    [
      ["key", "add", "x", "--api-keys", `${file}x`, "--roles", "boss"],
      2,
      /one or more of agent, computer, operator/,
    ],
    [
      [
        "key",
        "add",
        "x",
        "--api-keys",
        `${file}x`,
        "--roles",
        "operator",
        "--names",
        "a",
      ],
      2,
      /an operator joins nowhere/,
    ],
    [
      ["key", "add", "x", "--api-keys", join(folder.path, "no", "k")],
      1,
      /no such directory/,
    ],
  ];
  for (const [args, code, says] of mistakes) {
    // A process has none of the variables that a message names.
    const run = says.source.includes("SMCP_") ? runMain : runHere;
    const end = await run("server", args);
    assertMatch(end.stderr, says, args.join(" "));
    assertEquals([end.code, end.stdout], [code, ""], args.join(" "));
    assertEquals(end.stderr.trim().split("\n").length, 1, end.stderr);
  }
  const unknown = await operate(off.url, "/status").catch(() => undefined);
  assertEquals(unknown?.status, 404);
});

Deno.test({
  name:
    "smcp-server completion has the commands for operators, and their help the flags",
  timeout,
}, async () => {
  const { stdout } = await runHere("server", ["completion", "bash"]);
  for (const path of ["/offices", "/key/add", "/kick"]) {
    assertStringIncludes(stdout, path);
  }
  const help = await runHere("server", ["kick", "--help"]);
  assertEquals(help.code, 0);
  for (const flag of ["--hold", "--reason", "--role", "--token"]) {
    assertStringIncludes(help.stdout, flag);
  }
});

Deno.test({
  name:
    "smcp up prints the token of its operators, who may ask its Computer; with --no-operator there are none",
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
  const pc = "/offices/home/computers/pc";
  const asked = await operate(url, `${pc}/config`, { token });
  assertEquals([asked.status, asked.body.servers], [200, {}]);
  const off = await up("--no-operator", "--refuse-operators");
  await using _off = off.child;
  assert(!off.child.lines.some((line) => line.includes("Operators")));
  const refused = await fetch(`${off.url}/operator/v1/offices`);
  await refused.body?.cancel();
  assertEquals(refused.status, 404);
});
