import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { chmod, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Service } from "../../../../cli/service/manager.ts";
import { unitText } from "../../../../cli/service/systemd.ts";
import { scratch } from "../../../support/scratch.ts";
import {
  anyLine,
  anyText,
  CONTROLS,
  HOSTILE,
} from "../../../support/service/hostile.ts";
import {
  expanded,
  readUnit,
  WITHOUT_SYSTEMD,
} from "../../../support/service/systemd.ts";

const service = (over: Partial<Service> = {}): Service => ({
  name: "smcp-computer",
  summary: "A Computer",
  command: ["/bin/true", "run"],
  directory: "/",
  environment: {},
  ...over,
});

const ignore = WITHOUT_SYSTEMD !== "";

Deno.test("unitText() is a unit that restarts a failed service, and not one of wrong usage", () => {
  assertEquals(
    unitText(service({ environment: { PATH: "/usr/bin" } })),
    `# Made by smcp-computer service install, which also changes it; "smcp-computer service remove" deletes it.
[Unit]
Description=A Computer
StartLimitIntervalSec=1h
StartLimitBurst=100

[Service]
Type=exec
ExecStart="/bin/true" "run"
WorkingDirectory=/
Environment="PATH=/usr/bin"
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2
# The command itself ends its processes.
KillMode=mixed

[Install]
WantedBy=default.target
`,
  );
});

Deno.test({
  name: `systemd reads any argument of a unit as it was${WITHOUT_SYSTEMD}`,
  ignore,
  async fn() {
    // One process reads them all.
    const args = [...HOSTILE, CONTROLS, ...fc.sample(anyText(), 500)];
    const unit = await readUnit(
      unitText(service({ command: ["/bin/true", ...args] })),
    );
    assertEquals(unit.command.map(expanded), ["/bin/true", ...args]);
  },
});

Deno.test({
  name: `systemd reads any variable of a unit as it was${WITHOUT_SYSTEMD}`,
  ignore,
  async fn() {
    const values = [...HOSTILE, ...fc.sample(anyLine(), 500)];
    const environment = Object.fromEntries(
      values.map((value, index) => [`V${index}`, value]),
    );
    const unit = await readUnit(unitText(service({ environment })));
    assertEquals(
      unit.environment,
      values.map((value, index) => `V${index}=${value}`),
    );
  },
});

Deno.test({
  name:
    `systemd finds program and folder of a unit by any path${WITHOUT_SYSTEMD}`,
  ignore,
  async fn() {
    await using folder = await scratch();
    await chmod(folder.path, 0o755);
    for (const text of HOSTILE.filter((text) => text !== "")) {
      const directory = join(folder.path, text.replaceAll("/", "_"));
      const program = join(directory, "true");
      await mkdir(directory);
      await copyFile("/bin/true", program);
      const unit = await readUnit(
        unitText(service({ command: [program, "$1"], directory })),
      );
      assertEquals(unit.directory, directory);
      const shell = /["'\\]/.test(directory)
        ? ["/bin/sh", "-c", 'exec "$0" "$@"']
        : [];
      const [first = "", ...rest] = unit.command;
      assertEquals(
        [first, ...rest.map(expanded)],
        [...shell, program, "$1"],
      );
    }
  },
});

Deno.test("unitText() refuses what a unit cannot hold", () => {
  for (
    const [over, what] of [
      [{ directory: "/a\nb" }, "the path of this folder"],
      [{ command: ["/a\nb"] }, "the path of the program"],
      [{ command: ["/a", "\0"] }, "an argument"],
      [{ command: ["/a", "\ud800"] }, "an argument"],
      [{ command: ["/a", "\ufdd0"] }, "an argument"],
      [{ environment: { PATH: "\x1b" } }, "the variable PATH"],
    ] as const
  ) {
    assertThrows(
      () => unitText(service(over)),
      Error,
      `${what} has a character`,
    );
  }
});
