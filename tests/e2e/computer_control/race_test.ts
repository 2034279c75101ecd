/** The terminal of a Computer and a device are asked at the same time; the first answer counts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { approvals } from "@a2c-smcp/server/approvals";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runMain } from "../../support/command.ts";
import { start } from "../../support/child.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { linkIn } from "../../support/approvals/link_in.ts";
import { scratch } from "../../support/scratch.ts";
import {
  onTerminal,
  startOnTerminal,
  type Terminal,
} from "../../support/terminal/terminal.ts";

const SIZE = { columns: 150, rows: 60 };

/** Pairs a program with the Computer that runs, by the commands. */
async function pairProgram(home: string): Promise<Terminal> {
  const env = { XDG_STATE_HOME: home };
  await using pairing = await startOnTerminal("computer", ["pair"], {
    env,
    ...SIZE,
  });
  const { all: shown } = await pairing.until("Type here only what a phone");
  const link = linkIn(shown);
  const device = await startOnTerminal("computer", [
    ...["approve", "--approve-keys", join(home, "keys.json"), link],
  ], SIZE);
  const { all } = await device.until(/runs: \d{6}/);
  const [, digits = ""] = /runs: (\d{6})/.exec(all) ?? [];
  await pairing.until(/shows six digits\n[^]*Digits:/);
  await pairing.type(`${digits}\r`);
  await pairing.until(`paired: "${hostname()}"`);
  await device.until("pc: connected");
  return device;
}

onTerminal(
  "a question is at the terminal and at the device; the first answer withdraws it from the other, with where it was given",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    await using office = await startOffice({
      server: { approvals: approvals() },
    });
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo"] }) },
    });
    await using computer = await startOnTerminal("computer", [
      ...["run", "--url", office.url, "--office", OFFICE, "--name", "pc"],
      ...["--config", config.file],
    ], { env, ...SIZE });
    await computer.until(/files +running/);
    await using device = await pairProgram(home.path);

    const first = office.agent.callTool("pc", "echo", { text: "one" });
    await computer.until(/"one"[^]*Enter/);
    await device.until(/"one"[^]*\(y\)[^]*Enter/);
    await device.type("y");
    assertEquals((await first).isError ?? false, false);
    await computer.until(`answered on "${hostname()}"`);

    const second = office.agent.callTool("pc", "echo", { text: "two" });
    await device.until(/"two"[^]*Enter/);
    await computer.until(/"two"[^]*\(y\)[^]*Enter/);
    await computer.type("n");
    const { isError } = await second;
    assertEquals(isError, true);
    await device.until("pc: a question has ended: answered at the terminal");
  },
);

onTerminal(
  "with --yes a rule that asks every time goes to the person at the terminal, and no other call does",
  async () => {
    await using home = await scratch();
    await using office = await startOffice();
    await using config = await configFile({
      servers: { files: fixture({ only: ["echo", "pid"] }) },
      rules: [{ tool: "echo", then: "ask", every: true }],
    });
    await using computer = await startOnTerminal("computer", [
      ...["run", "--url", office.url, "--office", OFFICE, "--name", "pc"],
      ...["--config", config.file, "--yes"],
    ], { env: { XDG_STATE_HOME: home.path }, ...SIZE });
    await computer.until(/files +running/);
    const { isError } = await office.agent.callTool("pc", "pid", {});
    assertEquals(isError ?? false, false);
    await computer.until(/allowed by --yes: tool "pid"/);
    for (const [key, isRefused] of [["y", false], ["n", true]] as const) {
      const text = `press ${key}`;
      const called = office.agent.callTool("pc", "echo", { text });
      await computer.until(({ text: screen, cursor }) =>
        screen.includes(`"${text}"`) && /\(y\)[^]*Enter/.test(screen) &&
        !cursor.shown
      );
      // Not for later calls: neither "for an hour" nor "always".
      assertEquals(/\([ha]\)/.test(computer.screen().text), false);
      await computer.type(key);
      assertEquals((await called).isError ?? false, isRefused);
    }
  },
);

onTerminal(
  "smcp up --approvals: a device of its Computer pairs and is kept over a restart on another port",
  async () => {
    await using home = await scratch();
    const env = { XDG_STATE_HOME: home.path };
    await using config = await configFile({ servers: {} });
    const startUp = () =>
      start(Deno.execPath(), [
        ...["run", "-A", "--quiet", "--frozen"],
        fileURLToPath(new URL("../../../mod.ts", import.meta.url)),
        ...["up", "--approvals", "--port", "0", "--name", "pc"],
        ...["--config", config.file],
      ], { env });
    {
      await using up = startUp();
      await up.line(
        /^Approvals: http:\/\/127\.0\.0\.1:\d+\/approve; to pair a phone: .* pair$/,
      );
      await up.line(/joined office home as pc/);
      await using _device = await pairProgram(home.path);
    }
    await using again = startUp();
    await again.line(/joined office home as pc/);
    const { stdout } = await runMain("computer", ["devices"], { env });
    assertStringIncludes(stdout, `"${hostname()}"`);
  },
);
