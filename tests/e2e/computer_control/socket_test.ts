import { assertEquals, assertRejects } from "@std/assert";
import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { RunningComputer } from "../../../computer/control/client.ts";
import { type Child, start } from "../../support/child.ts";
import { scratch } from "../../support/scratch.ts";

const HOLDER = new URL("../../support/control/holder.ts", import.meta.url);

const hold = (folder: string, name: string, what = "wait"): Child =>
  start(Deno.execPath(), [
    ...["run", "-A", "--quiet", HOLDER.pathname],
    ...[folder, name, what],
  ]);

const HOW = "smcp-computer run";

const filesOf = (folder: string, ending: string): string[] =>
  [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(ending));

Deno.test("a command finds the Computer that runs, asks it, and gets its errors", async () => {
  await using folder = await scratch();
  await using holder = hold(folder.path, "pc");
  await holder.line(/^listening$/);
  const found = await RunningComputer.find({}, folder.path, HOW);
  assertEquals(found.place, {
    name: "pc",
    office: "north",
    url: "http://127.0.0.1:8787",
    pid: holder.pid,
  });
  assertEquals(await found.request({ command: "devices" }), [
    {
      id: "0a",
      label: "Pixel",
      paired: "2026-11-30T00:00:00Z",
      isWoken: false,
    },
  ]);
  await assertRejects(
    () => found.request({ command: "removeDevice", which: "Fold" }),
    Error,
    "no device is called Fold",
  );
  found.close();
});

Deno.test("without a running Computer the error has how to start one; with several it lists them", async () => {
  await using folder = await scratch();
  const find = (choice = {}) => RunningComputer.find(choice, folder.path, HOW);
  await assertRejects(
    find,
    Error,
    "no Computer runs here as this user; start one: smcp-computer run",
  );
  await using first = hold(folder.path, "pc");
  await using second = hold(folder.path, "laptop");
  await Promise.all([first.line(/^listening$/), second.line(/^listening$/)]);
  await assertRejects(
    find,
    Error,
    "several Computers run here; name one by --name or --office: ",
  );
  const found = await find({ name: "laptop" });
  assertEquals(found.place.pid, second.pid);
  found.close();
  await assertRejects(
    () => find({ office: "south" }),
    Error,
    "no Computer of that name and office runs here; there is ",
  );
});

Deno.test("a killed Computer is not found, and what it left is removed", async () => {
  await using folder = await scratch();
  await using killed = hold(folder.path, "pc");
  await killed.line(/^listening$/);
  killed.signal("SIGKILL");
  await killed.status;
  assertEquals(filesOf(folder.path, ".json").length, 1);
  await using next = hold(folder.path, "pc");
  await next.line(/^listening$/);
  const found = await RunningComputer.find({}, folder.path, HOW);
  assertEquals(found.place.pid, next.pid);
  found.close();
  assertEquals(filesOf(folder.path, ".json").length, 1);
  assertEquals(filesOf(folder.path, ".sock").length, 1);
});

for (const what of ["end", "exit", "close"]) {
  Deno.test(`the socket does not hold up the process, and is gone after its ${what}`, async () => {
    await using folder = await scratch();
    await using holder = hold(folder.path, "pc", what);
    assertEquals((await holder.status).code, what === "exit" ? 3 : 0);
    assertEquals(holder.lines, ["listening"]);
    assertEquals(filesOf(folder.path, ""), []);
  });
}

Deno.test({
  name: "only its user can open the socket: by the modes of folder and files",
  ignore: Deno.build.os === "windows",
}, async () => {
  await using parent = await scratch();
  const folder = join(parent.path, "running");
  await Deno.mkdir(folder, { mode: 0o777 });
  await Deno.chmod(folder, 0o777);
  await using holder = hold(folder, "pc");
  await holder.line(/^listening$/);
  const modeOf = (path: string) => (Deno.statSync(path).mode ?? 0) & 0o777;
  assertEquals(modeOf(folder), 0o700);
  for (const { name } of Deno.readDirSync(folder)) {
    assertEquals(modeOf(join(folder, name)), 0o600, name);
  }
});

Deno.test({
  name:
    "what another user has put into the folder leads no command anywhere, and removes nothing",
  ignore: Deno.build.os === "windows" || Deno.uid() !== 0,
}, async () => {
  await using parent = await scratch();
  const precious = join(parent.path, "precious");
  await Deno.writeTextFile(precious, "x");
  await using foreign = hold(join(parent.path, "foreign"), "pc");
  await foreign.line(/^listening$/);
  const [entry = ""] = filesOf(join(parent.path, "foreign"), ".json");
  const folder = join(parent.path, "running");
  await Deno.mkdir(folder);
  const planted = join(folder, entry);
  await Deno.copyFile(join(parent.path, "foreign", entry), planted);
  const other = join(folder, `${"0".repeat(16)}.json`);
  const text = await Deno.readTextFile(planted);
  const names = { ...JSON.parse(text), socket: precious };
  await Deno.writeTextFile(other, JSON.stringify(names));
  for (const file of [planted, other]) await Deno.chown(file, 12_345, 12_345);
  await assertRejects(
    () => RunningComputer.find({}, folder, HOW),
    Error,
    "no Computer runs here",
  );
  assertEquals(await Deno.readTextFile(precious), "x");
});

Deno.test("whoever lacks the token, or sends a line without end, is disconnected without an answer", async () => {
  await using folder = await scratch();
  await using holder = hold(folder.path, "pc");
  await holder.line(/^listening$/);
  const [name = ""] = filesOf(folder.path, ".sock");
  for (
    const line of [
      `${JSON.stringify({ token: "wrong" })}\n{"command":"where"}\n`,
      "x".repeat(70_000),
      "not JSON\n",
    ]
  ) {
    const socket = connect(join(folder.path, name));
    const got: string[] = [];
    socket.on("data", (bytes) => got.push(`${bytes}`));
    socket.on("error", () => {});
    socket.write(line);
    await once(socket, "close");
    assertEquals(got, []);
  }
});

Deno.test("a pairing shows its events, gets the digits, and learns of the command's end", async () => {
  await using folder = await scratch();
  await using holder = hold(folder.path, "pc");
  await holder.line(/^listening$/);
  const found = await RunningComputer.find({}, folder.path, HOW);
  const events: unknown[] = [];
  const end = await found.pair("https://a.example/approve", (event) => {
    events.push(event);
    found.sendDigits("123456");
  });
  assertEquals(end, { paired: "123456" });
  assertEquals(events, [{
    event: "link",
    link: "https://a.example/approve#1",
    untilMs: 1,
    warnings: ["beware"],
  }]);
  // It may fail before that line is there.
  const ended = found.pair(undefined, () => found.close()).catch(() => {});
  await holder.line(/^digits undefined$/);
  await ended;
});
