import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { PACKAGE_VERSION } from "../../../cli/version.ts";
import config from "../../../deno.json" with { type: "json" };
import { start } from "../../support/child.ts";

/** All commands, by the files that run them. */
const COMMANDS = [
  "main.ts",
  "mod.ts",
  "server/main.ts",
  "computer/main.ts",
  "agent/main.ts",
];

Deno.test("PACKAGE_VERSION is the version of deno.json", () => {
  assertEquals(PACKAGE_VERSION, config.version);
});

for (const file of COMMANDS) {
  Deno.test(`${file} --version tells package, protocol and runtime`, async () => {
    const path = fileURLToPath(new URL(`../../../${file}`, import.meta.url));
    await using child = start(Deno.execPath(), [
      "run",
      "-A",
      "--quiet",
      "--frozen",
      path,
      "--version",
    ]);
    assertEquals((await child.status).code, 0);
    assertEquals(child.lines, [
      `@a2c-smcp/sdk ${config.version}, A2C-SMCP 0.2.0, Deno ${Deno.version.deno}`,
    ]);
  });
}
