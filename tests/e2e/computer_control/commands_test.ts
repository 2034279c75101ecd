import { assertEquals, assertStringIncludes } from "@std/assert";
import { runMain } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

Deno.test("commands reach the Computer of smcp-computer run, list its rules and devices, and say how to start one when it has ended", async () => {
  await using home = await scratch();
  const env = { XDG_STATE_HOME: home.path };
  const run = (...args: string[]) => runMain("computer", args, { env });
  await using office = await startOffice();
  await using config = await configFile({
    servers: {
      files: fixture({ only: ["echo"] }, { forbidden_tools: ["delete"] }),
    },
  });
  await using computer = runComputer(office, config.file, { env });
  await computer.line(/^joined office north as pc$/);
  const none = await run("devices");
  assertEquals(none.code, 0, none.stderr);
  assertEquals(
    none.stdout,
    "no device can answer; smcp-computer pair adds one\n",
  );
  assertEquals(JSON.parse((await run("devices", "--json")).stdout), {
    devices: [],
  });
  const rules = await run("rules", "--name", "pc", "--office", "north");
  assertEquals(rules.code, 0, rules.stderr);
  assertEquals(
    rules.stdout.split("\n").slice(0, 3),
    [
      "The first rule that fits decides:",
      '  deny tool "delete" of MCP server "files", which is not listed either  (servers.files.forbidden_tools.0)',
      "  ask about every other call  (default)",
    ],
  );
  assertStringIncludes(rules.stdout, "No permissions");
  const unknown = await run("rules", "remove", "abc");
  assertEquals(unknown.code, 1);
  assertStringIncludes(unknown.stderr, 'there is no permission "abc"');
  const other = await run("devices", "--office", "south");
  assertStringIncludes(
    other.stderr,
    'no Computer of that name and office runs here; there is "pc" in office "north"',
  );
  for (const what of ["device", "permission"]) {
    const list = what === "device" ? "devices" : "rules";
    const empty = await run(list, "remove", "");
    assertEquals(empty.code, 1);
    assertStringIncludes(
      empty.stderr,
      `there is no ${what} ""; there is none at all`,
    );
  }
  const unpaired = await run("devices", "remove", "Pixel");
  assertEquals(unpaired.code, 1);
  assertStringIncludes(unpaired.stderr, 'there is no device "Pixel"');
  await computer.stop();
  const gone = await run("devices");
  assertEquals(gone.code, 1);
  assertStringIncludes(gone.stderr, "no Computer runs here as this user;");
  assertStringIncludes(gone.stderr, "run --config computer.json");
});

Deno.test("smcp-computer pair says when the Server has no approvals, with the fix", async () => {
  await using home = await scratch();
  const env = { XDG_STATE_HOME: home.path };
  await using office = await startOffice();
  await using config = await configFile({ servers: {} });
  await using computer = runComputer(office, config.file, { env });
  await computer.line(/^joined office north as pc$/);
  const { code, stderr } = await runMain("computer", ["pair"], { env });
  assertEquals(code, 1, stderr);
  assertStringIncludes(stderr, "enables that with --approvals");
});
