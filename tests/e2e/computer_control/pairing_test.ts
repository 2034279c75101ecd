/** From a running Computer and a Server to a yes of another machine, by the commands alone. */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { readLink } from "../../../shared/approvals/pairing.ts";
import { hostname } from "node:os";
import { join } from "node:path";
import { runMain } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { type Office, startOffice } from "../../support/office.ts";
import { linkIn } from "../../support/approvals/link_in.ts";
import { scratch } from "../../support/scratch.ts";
import {
  assertRestored,
  onTerminal,
  startOnTerminal,
} from "../../support/terminal/terminal.ts";

const SIZE = { columns: 150, rows: 60 };

const startApproving = (): Promise<Office> =>
  startOffice({ server: { approvals: approvals() } });

onTerminal(
  "smcp-computer pair, approve, devices and rules: a Computer without a terminal gets its yes from another machine",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    const run = (...args: string[]) => runMain("computer", args, { env });
    await using office = await startApproving();
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo"] }) },
    });
    await using computer = runComputer(office, config.file, { env });
    await computer.line(/^joined office north as pc$/);
    await computer.line(/^MCP server files: running/);

    await using pairing = await startOnTerminal("computer", ["pair"], {
      env,
      ...SIZE,
    });
    const { all: shown } = await pairing.until("Type here only what a phone");
    assertStringIncludes(shown, "█");
    assertStringIncludes(shown, "no phone reaches it");
    const link = linkIn(shown);
    const keys = join(home.path, "keys.json");
    await using device = await startOnTerminal("computer", [
      ...["approve", "--approve-keys", keys, link],
    ], SIZE);
    const { all } = await device.until(/runs: \d{6}/);
    const [, digits = ""] = /runs: (\d{6})/.exec(all) ?? [];
    await pairing.until(/shows six digits\n[^]*Digits:/);
    const wrong = digits === "000000" ? "000001" : "000000";
    await pairing.type(`${wrong}\r`);
    await pairing.until("wrong digits; 2 more tries");
    await pairing.type("12\r");
    await pairing.until("this was no try");
    await pairing.type(`${digits}\r`);
    await pairing.until(`paired: "${hostname()}" can answer for "pc"`);
    assertEquals(await assertRestored(pairing), 0);
    await device.until("pc: connected; nothing is asked");

    const call = office.agent.callTool("pc", "echo", { text: "hello" });
    await device.until(/"hello"[^]*\(h\)[^]*Enter/);
    await device.type("h");
    assertEquals((await call).isError ?? false, false);
    const list = await run("devices");
    assertMatch(
      list.stdout,
      /^".+" +\S{8} {2}paired just now, seen just now\n$/,
    );
    const rules = await run("rules", "--json");
    const [permission] = JSON.parse(rules.stdout).permissions;
    assertEquals(permission.usesLeft, 19, rules.stdout);
    const same = await office.agent.callTool("pc", "echo", { text: "hello" });
    assertEquals(same.isError ?? false, false, "asked nobody");
    const removed = await run("rules", "remove", permission.id);
    assertEquals(removed.code, 0, removed.stderr);

    const refused = office.agent.callTool("pc", "echo", { text: "hello" });
    await device.until((screen) =>
      /"hello"[^]*\(h\)[^]*Enter/.test(screen.all)
    );
    await device.type("n");
    await device.until(/◆ +Why not\?/);
    await device.type("not today\r");
    const answer = await refused;
    assert(answer.isError);
    assertStringIncludes(JSON.stringify(answer), "not today");

    const gone = await run("devices", "remove", hostname());
    assertEquals(gone.code, 0, gone.stderr);
    await device.until(/pc: (refuses this program|not connected)/);
    await device.type("\x03").catch(() => {});
    await device.end;
    assertEquals(JSON.parse((await run("devices", "--json")).stdout), {
      devices: [],
    });
  },
);

onTerminal(
  "a program that pairs ends with the reason when the digits were wrong three times",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    await using office = await startApproving();
    await using config = await configFile({ servers: {} });
    await using computer = runComputer(office, config.file, { env });
    await computer.line(/^joined office north as pc$/);
    await using pairing = await startOnTerminal("computer", ["pair"], {
      env,
      ...SIZE,
    });
    const { all } = await pairing.until("Type here only what a phone");
    const link = linkIn(all);
    await using device = await startOnTerminal("computer", [
      ...["approve", "--approve-keys", join(home.path, "keys.json"), link],
    ], SIZE);
    const shown = await device.until(/runs: \d{6}/);
    const isZero = /runs: 000000/.test(shown.all);
    for (const left of ["2 more tries", "1 more try", "not paired"]) {
      await pairing.until(/Digits:\s*$/);
      await pairing.type(`${isZero ? "000001" : "000000"}\r`);
      await pairing.until(left);
    }
    await device.until("the digits were wrong three times");
    assertEquals((await device.end).code, 1);
  },
);

onTerminal(
  "smcp-computer pair --page: the link opens that page, and leads to the Server",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    await using office = await startApproving();
    await using config = await configFile({ servers: {} });
    await using computer = runComputer(office, config.file, { env });
    await computer.line(/^joined office north as pc$/);
    for (
      const [page, problem] of [
        ["http://approve.example/", "expected an address with https"],
        ["https://approve.example/#x", 'a part after "#"'],
      ] as const
    ) {
      const { code, stderr } = await runMain("computer", [
        ...["pair", "--page", page],
      ], { env });
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, problem);
    }
    const page = "https://approve.example/phone/";
    await using pairing = await startOnTerminal("computer", [
      ...["pair", "--page", page],
    ], { env, ...SIZE });
    const { all: shown } = await pairing.until("Type here only what a phone");
    const link = linkIn(shown);
    assert(link.startsWith(`${page}#1.`), link);
    assertEquals(readLink(link).url, office.url);
    assert(!shown.includes("the page is the Server's"), shown);
    // The program takes the same link.
    await using device = await startOnTerminal("computer", [
      ...["approve", "--approve-keys", join(home.path, "keys.json"), link],
    ], SIZE);
    const { all } = await device.until(/runs: \d{6}/);
    const [, digits = ""] = /runs: (\d{6})/.exec(all) ?? [];
    await pairing.until(/Digits:\s*$/);
    await pairing.type(`${digits}\r`);
    await device.until("pc: connected; nothing is asked");
  },
);

onTerminal("Ctrl-C cancels a pairing: its link is worth nothing", async () => {
  await using home = await scratch();
  const env = { XDG_STATE_HOME: home.path };
  await using office = await startApproving();
  await using config = await configFile({ servers: {} });
  await using computer = runComputer(office, config.file, { env });
  await computer.line(/^joined office north as pc$/);
  await using pairing = await startOnTerminal("computer", ["pair"], {
    env,
    ...SIZE,
  });
  const { all } = await pairing.until("Type here only what a phone");
  const link = linkIn(all);
  await pairing.type("\x03");
  assertEquals(await assertRestored(pairing), 130);
  await using device = await startOnTerminal("computer", [
    ...["approve", "--approve-keys", join(home.path, "keys.json"), link],
  ], SIZE);
  await device.until(/error: /);
  assertEquals((await device.end).code, 1);
});

onTerminal(
  "the shell pairs, lists devices and rules, and is reached by commands",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    await using office = await startApproving();
    await using shell = await startOnTerminal("computer", [
      ...["shell", "--url", office.url, "--office", "north", "--name", "pc"],
    ], { env, ...SIZE });
    await shell.until("joined office north as pc");
    await shell.type("devices\r");
    await shell.until("no device can answer; smcp-computer pair adds one");
    await shell.type("rules\r");
    await shell.until("The first rule that fits decides:");
    await shell.type("pair\r");
    const { all: shown } = await shell.until("Type here only what a phone");
    const link = linkIn(shown);
    await using device = await startOnTerminal("computer", [
      ...["approve", "--approve-keys", join(home.path, "keys.json"), link],
    ], SIZE);
    const { all } = await device.until(/runs: \d{6}/);
    const [, digits = ""] = /runs: (\d{6})/.exec(all) ?? [];
    await shell.until(/◆ +Digits that /);
    await shell.type(`${digits}\r`);
    await shell.until(`paired: "${hostname()}" can answer for "pc"`);
    await device.until("pc: connected; nothing is asked");
    const list = await runMain("computer", ["devices", "--json"], { env });
    assertEquals(JSON.parse(list.stdout).devices[0].label, hostname());
    await shell.type(`devices remove ${hostname()}\r`);
    await shell.until(`removed "${hostname()}"`);
  },
);
