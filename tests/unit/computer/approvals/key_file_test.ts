import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import * as approvals from "../../../../computer/approvals/approvals.ts";
import { KeyFile } from "../../../../computer/approvals/key_file.ts";
import type { Permission } from "../../../../computer/rules/permissions.ts";
import { toBase64url } from "../../../../shared/approvals/bytes.ts";
import { poll } from "../../../../shared/approvals/device.ts";
import { Side } from "../../../support/approvals/side.ts";
import { scratch } from "../../../support/scratch.ts";

const { Approvals } = approvals;
const NAME = { name: () => "laptop" };
/** Locks that do not wait long for each other. */
const SHORT = {
  touchMs: 1_000,
  lookMs: 1,
  staleLooks: 1_000_000,
  waitMs: 50,
};

const PERMISSION: Permission = {
  id: "p1",
  given: "always",
  agent: "planner",
  bundleId: "files",
  tool: "read_file",
  covers: "every call of read_file by planner",
  definition: "d",
  configuration: "c",
};

Deno.test("the file of keys is made by the first pairing, for its owner alone", async () => {
  await using side = await Side.open(approvals);
  assertEquals(
    (await readdir(dirname(side.file))).filter((name) =>
      name.endsWith(".json")
    ),
    [],
  );
  await side.pair();
  if (process.platform !== "win32") {
    assertEquals((await stat(side.file)).mode & 0o777, 0o600);
  }
  const { version, computer, devices } = JSON.parse(
    await readFile(side.file, "utf8"),
  );
  assertEquals(version, 1);
  assertEquals(Object.keys(computer), ["sign", "seal"]);
  assertEquals(devices.length, 1);
  // No draft is left beside it.
  const names = await readdir(dirname(side.file));
  assertEquals(names.toSorted(), ["approvals.json", "approvals.json.lock"]);
});

Deno.test("a Computer that starts again has its id, devices and permissions", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "state", "keys.json");
  let approvals = await Approvals.open(file, NAME);
  const id = toBase64url(approvals.id);
  const narrow: Permission = {
    ...PERMISSION,
    given: "hour",
    operator: "ann",
    untilMs: 1_800_000_000_000,
    usesLeft: 19,
    fixed: { path: "/srv/a", mode: null },
    open: "content",
  };
  await approvals.permissions.write([PERMISSION, narrow]);
  await approvals.close();
  approvals = await Approvals.open(file, NAME);
  assertEquals(toBase64url(approvals.id), id);
  assertEquals(await approvals.permissions.read(), [PERMISSION, narrow]);
  await approvals.close();
});

Deno.test("a phone polls after a restart as before, and its questions are gone", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  side.ask();
  await side.approvals.close();
  const again = await Approvals.open(side.file, NAME);
  const news = await poll(phone, (_token, message) => again.handle(message));
  assertEquals(news.questions, []);
  const [device] = again.devices();
  assertEquals(device?.label, "Pixel");
  assert(device?.seen);
  assertEquals(again.verifiers.length, 1);
  await again.close();
});

Deno.test("two Computers do not use one file of keys", async () => {
  await using folder = await scratch();
  const path = join(folder.path, "keys.json");
  const first = await KeyFile.open(path, SHORT);
  await assertRejects(
    () => KeyFile.open(path, SHORT),
    Error,
    "a Computer with the same keys may be running",
  );
  await first.close();
  const second = await KeyFile.open(path, SHORT);
  await second.close();
});

Deno.test("a Computer that was stopped for so long that another took its file over writes nothing into it", async () => {
  await using folder = await scratch();
  const path = join(folder.path, "keys.json");
  // As after Ctrl-Z: it does not touch its lock.
  const stopped = await KeyFile.open(path, { ...SHORT, touchMs: 2 ** 30 });
  await stopped.save({ permissions: [PERMISSION] });
  const times = { ...SHORT, staleLooks: 3, waitMs: 5_000 };
  const next = await KeyFile.open(path, times);
  await next.save({ permissions: [] });
  const text = await readFile(path, "utf8");
  await assertRejects(
    () => stopped.save({ devices: [] }),
    Error,
    "another Computer uses it now; end one of the two",
  );
  assertEquals(await readFile(path, "utf8"), text);
  await stopped.close();
  await next.save({});
  await next.close();
});

Deno.test("what a Computer that was killed was writing is removed, as it has the keys", async () => {
  await using folder = await scratch();
  const path = join(folder.path, "keys.json");
  const draft = join(folder.path, `.keys.json.${crypto.randomUUID()}`);
  const others = [".keys.json.bak", "keys.json.old", ".other.json.1"];
  for (
    const file of [
      draft,
      ...others.map((name) => join(folder.path, name)),
    ]
  ) {
    await writeFile(file, "{}");
  }
  await (await KeyFile.open(path, SHORT)).close();
  assertEquals((await readdir(folder.path)).toSorted(), others.toSorted());
});

Deno.test("what changes in the file while a Computer runs lets no device in", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const before = await readFile(side.file, "utf8");
  await side.approvals.remove("Pixel");
  await writeFile(side.file, before);
  await assertRejects(() => poll(phone, side.send));
});

Deno.test("a broken file of keys is an error that names field and fix, and stays as it is", async () => {
  await using side = await Side.open(approvals);
  await side.pair("Pixel");
  await side.approvals.permissions.write([PERMISSION]);
  await side.approvals.close();
  const good = JSON.parse(await readFile(side.file, "utf8"));
  const other = await KeyFile.open(`${side.file}.other`, SHORT);
  await other.save({});
  await other.close();
  const foreign = JSON.parse(await readFile(`${side.file}.other`, "utf8"));
  const device = good.devices[0];
  const withDevice = (over: object) => ({
    ...good,
    devices: [{ ...device, ...over }],
  });
  const withPermission = (over: object) => ({
    ...good,
    permissions: [{ ...PERMISSION, ...over }],
  });
  const sign = good.computer.sign;
  const broken: [field: string, content: unknown][] = [
    ["it is not JSON", "{"],
    ["version: expected 1", { ...good, version: 2 }],
    ["computer.sign: expected a private key", { ...good, computer: {} }],
    ["computer.seal: expected a private key", {
      ...good,
      computer: { sign, seal: { ...good.computer.seal, d: undefined } },
    }],
    ["computer: public and private keys do not belong together", {
      ...good,
      computer: {
        ...good.computer,
        sign: {
          ...sign,
          x: foreign.computer.sign.x,
          y: foreign.computer.sign.y,
        },
      },
    }],
    ["devices: expected a list of at most 8", { ...good, devices: {} }],
    ["devices: expected a list of at most 8", {
      ...good,
      devices: Array(9).fill(device),
    }],
    ["devices.1: is there twice", { ...good, devices: [device, device] }],
    ["devices.0: expected an object", { ...good, devices: [1] }],
    ["devices.0.label: expected a text", withDevice({ label: "" })],
    ["devices.0.paired: expected an ISO date", withDevice({ paired: "x" })],
    ["devices.0.sign: expected 65 bytes", withDevice({ sign: "AAAA" })],
    [
      "devices.0.seal: expected a public key",
      withDevice({ seal: "A".repeat(87) }),
    ],
    ["devices.0.token: expected 32 bytes", withDevice({ token: "?" })],
    ["devices.0.push: ", withDevice({ push: { endpoint: "http://x" } })],
    ["permissions: expected a list", { ...good, permissions: {} }],
    ["permissions.0.tool: expected a text", withPermission({ tool: 1 })],
    ["permissions.0.given: expected", withPermission({ given: "once" })],
    [
      "permissions.0.untilMs: expected a number",
      withPermission({ untilMs: "1" }),
    ],
    [
      "permissions.0.usesLeft: expected a number",
      withPermission({ usesLeft: null }),
    ],
    [
      "permissions.0.operator: expected a text",
      withPermission({ operator: 1 }),
    ],
    ["permissions.0.open: expected a text", withPermission({ open: {} })],
    ["permissions.0.fixed: expected an object", withPermission({ fixed: [] })],
    // Without what narrows it, it would allow anything for good.
    ["permissions.0.fixd: unknown field", withPermission({ fixd: {} })],
    ["permissions.0.untilMs: is missing", withPermission({ given: "hour" })],
    [
      "permissions.0.fixed: is missing",
      withPermission({ given: "hour", untilMs: 1, usesLeft: 1 }),
    ],
  ];
  for (const [problem, content] of broken) {
    const text = typeof content === "string"
      ? content
      : JSON.stringify(content);
    await writeFile(side.file, text);
    const { message } = await assertRejects(
      () => Approvals.open(side.file, NAME),
      Error,
    );
    assertStringIncludes(message, `${side.file}: ${problem}`);
    assertStringIncludes(message, "repair the file, or move it away");
    assertEquals(await readFile(side.file, "utf8"), text);
  }
});

Deno.test({
  name: "a file of keys that others can read is refused",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using side = await Side.open(approvals);
    await side.pair();
    await side.approvals.close();
    await chmod(side.file, 0o640);
    await assertRejects(
      () => Approvals.open(side.file, NAME),
      Error,
      "others can read it; run chmod 600",
    );
  },
});

Deno.test({
  name:
    "a file of keys that another user has put there, or could replace, is refused",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using side = await Side.open(approvals);
    await side.pair();
    await side.approvals.close();
    const open = () => Approvals.open(side.file, NAME);
    for (const mode of [0o770, 0o703, 0o777, 0o1777]) {
      await chmod(dirname(side.file), mode);
      await assertRejects(open, Error, "others can replace it");
    }
    await chmod(dirname(side.file), 0o755);
    await (await open()).close();
    if (process.getuid?.() !== 0) return;
    await chown(side.file, 12_345, 12_345);
    await assertRejects(open, Error, "belongs to another user");
    await rm(side.file);
    await chmod(dirname(side.file), 0o777);
    await assertRejects(open, Error, "others can replace it");
  },
});

Deno.test("a device that cannot be stored is not paired", async () => {
  await using side = await Side.open(approvals);
  await side.pair("First");
  await rm(side.file);
  await mkdir(side.file); // nothing replaces a folder
  await assertRejects(() => side.pair("Second"), Error, "cannot be written");
  assertEquals(side.approvals.devices().map(({ label }) => label), ["First"]);
  // A device that cannot be removed from the file counts no more all the same.
  await assertRejects(() => side.approvals.remove("First"), Error);
  assertEquals(side.approvals.devices(), []);
  await rm(side.file, { recursive: true });
});

Deno.test("devices have labels of their own that can be read", async () => {
  await using side = await Side.open(approvals);
  await side.pair("Pixel");
  await side.pair("Pixel");
  await side.pair('  \u202e"x"  ');
  await side.pair("");
  assertEquals(side.approvals.devices().map(({ label }) => label), [
    "Pixel",
    "Pixel (2)",
    "⟨U+202E⟩'x'",
    "a device",
  ]);
  const removed = await side.approvals.remove("Pixel (2)");
  assertEquals(removed?.label, "Pixel (2)");
  assertEquals(await side.approvals.remove("Pixel (2)"), undefined);
});
