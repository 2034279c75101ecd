import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { serviceHome } from "../../../support/service/home.ts";

const PLIST = "Library/LaunchAgents/smcp-computer.plist";
const ENV_FILE = ".config/a2c-smcp/smcp-computer.env";
const INSTALL = [
  "service",
  "install",
  "--config",
  "c.json",
  "--office",
  "demo",
];
const KEY = "a-key-that-nobody-sees";

Deno.test("on a Mac, service install writes a plist, and starts it", async () => {
  await using home = await serviceHome({ platform: "darwin" });
  const end = await home.run("computer", INSTALL, { SMCP_API_KEY: KEY });
  assertEquals([end.code, end.stderr], [0, ""]);
  assertEquals(await home.files(), [ENV_FILE, PLIST]);
  const plist = await home.read(PLIST);
  assertStringIncludes(plist, "<string>--office=demo</string>");
  assertStringIncludes(
    plist,
    `<string>${join(home.path, "Library/Logs/smcp-computer.log")}</string>`,
  );
  assertEquals(plist.includes(KEY), false);
  assertMatch(await home.read(ENV_FILE), new RegExp(`=${KEY}$`, "m"));
  assertEquals(await home.calls(), [
    "launchctl print gui/1000",
    "launchctl print gui/1000/smcp-computer",
    "launchctl enable gui/1000/smcp-computer",
    `launchctl bootstrap gui/1000 ${join(home.path, PLIST)}`,
  ]);
});

Deno.test("on a Mac, a changed service is loaded once the old one is gone", async () => {
  await using home = await serviceHome({ platform: "darwin" });
  await home.run("computer", INSTALL);
  await home.calls();
  const end = await home.run("computer", [...INSTALL, "--watch"]);
  assertEquals([end.code, end.stderr], [0, ""]);
  assertMatch(end.stdout, /^ {2}\+ *<string>--watch<\/string>$/m);
  const calls = await home.calls();
  const [out, into] = ["bootout", "bootstrap"].map((word) =>
    calls.findIndex((call) => call.includes(word))
  );
  assertEquals(
    calls.slice(out, into).filter((call) => /print/.test(call)).length,
    2,
  );
});

Deno.test("on a Mac, service status tells process, start and log", async () => {
  await using home = await serviceHome({ platform: "darwin" });
  await home.run("computer", INSTALL);
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} ä`);
  await home.write("Library/Logs/smcp-computer.log", `${lines.join("\n")}\n`);
  const end = await home.run("computer", ["service", "status"]);
  assertEquals(end.code, 0);
  assertStringIncludes(
    end.stdout,
    "smcp-computer: running since Mon Nov 23 02:00:00 2026 (process 4711)\n",
  );
  assertMatch(end.stdout, /log: tail -F .*smcp-computer\.log$/m);
  assertStringIncludes(
    end.stdout,
    `last lines of the log:\n  ${lines.slice(-10).join("\n  ")}\n`,
  );
});

Deno.test("on a Mac, service remove unloads and deletes, and keeps the log", async () => {
  await using home = await serviceHome({ platform: "darwin" });
  await home.run("computer", INSTALL);
  await home.write("Library/Logs/smcp-computer.log", "line\n");
  const end = await home.run("computer", ["service", "remove"]);
  assertEquals([end.code, end.stderr], [0, ""]);
  assertEquals(await home.files(), ["Library/Logs/smcp-computer.log"]);
  assertMatch(
    (await home.calls()).join("\n"),
    /bootout gui\/1000\/smcp-computer/,
  );
});
