import {
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { chmod, copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { plistText, stateOfJob } from "../../../cli/service/launchd.ts";
import type { Service } from "../../../cli/service/manager.ts";
import {
  stateOfUnit,
  unitText,
  whyUnusable,
} from "../../../cli/service/systemd.ts";
import { scratch } from "../../support/scratch.ts";
import { readPlist, WITHOUT_PLISTLIB } from "../../support/service/plist.ts";
import {
  expanded,
  readUnit,
  WITHOUT_SYSTEMD,
} from "../../support/service/systemd.ts";

const service = (over: Partial<Service> = {}): Service => ({
  name: "smcp-computer",
  summary: "A Computer",
  command: ["/bin/true", "run"],
  directory: "/",
  environment: { PATH: "/usr/bin" },
  ...over,
});

const variables = (values: readonly string[]) =>
  Object.fromEntries(values.map((value, index) => [`V${index}`, value]));

Deno.test("unitText() is a unit that restarts a failed service, and not one of wrong usage", () => {
  assertEquals(
    unitText(service()),
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
  name:
    `systemd reads any argument and variable of a unit as it was${WITHOUT_SYSTEMD}`,
  ignore: WITHOUT_SYSTEMD !== "",
  async fn() {
    // One process reads them all.
    const args = [...HOSTILE, CONTROLS, ...fc.sample(anyText(), 500)];
    const command = ["/bin/true", ...args];
    const values = [...HOSTILE, ...fc.sample(anyLine(), 500)];
    const environment = variables(values);
    const unit = await readUnit(unitText(service({ command, environment })));
    assertEquals(unit.command.map(expanded), command);
    assertEquals(
      unit.environment,
      values.map((value, index) => `V${index}=${value}`),
    );
  },
});

Deno.test({
  name:
    `systemd finds program and folder of a unit by any path${WITHOUT_SYSTEMD}`,
  ignore: WITHOUT_SYSTEMD !== "",
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

Deno.test("unitText() and plistText() refuse characters that their formats cannot hold", () => {
  const units: [over: Partial<Service>, part: string][] = [
    [{ directory: "/a\nb" }, "the path of this folder"],
    [{ command: ["/a\nb"] }, "the path of the program"],
    [{ command: ["/a", "\0"] }, "an argument"],
    [{ command: ["/a", "\ud800"] }, "an argument"],
    [{ command: ["/a", "\ufdd0"] }, "an argument"],
    [{ environment: { PATH: "\x1b" } }, "the variable PATH"],
  ];
  for (const [over, part] of units) {
    const refusal = `${part} has a character`;
    assertThrows(() => unitText(service(over)), Error, refusal);
  }
  for (const sign of ["\0", "\x07", "\x1b", "\ud800", "\uffff"]) {
    assertThrows(
      () => plistText(service({ command: ["/a", sign] }), "/log"),
      Error,
      "an argument has a character",
    );
  }
});

Deno.test({
  name:
    `plistText() starts a service at login, and again after a failure; a parser reads any text as it was${WITHOUT_PLISTLIB}`,
  ignore: WITHOUT_PLISTLIB !== "",
  async fn() {
    const random = fc.sample(anyText(), 1000).map((text) =>
      text.replaceAll(/\p{Cc}/gu, "")
    );
    const command = [...HOSTILE, "\t\n\r\r\n\x7f\x85", ...random];
    const directory = "/a <b>& c\r\n";
    const environment = variables(HOSTILE);
    const hostile = service({ command, directory, environment });
    assertEquals(await readPlist(plistText(hostile, "/&")), {
      Label: "smcp-computer",
      ProgramArguments: command,
      WorkingDirectory: directory,
      EnvironmentVariables: environment,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      StandardOutPath: "/&",
      StandardErrorPath: "/&",
    });
  },
});

/** What systemd prints of a unit, and the state that it has. */
const UNITS = `
ActiveState=active MainPID=7
  running: process 7
ActiveState=activating SubState=start
  starting
ActiveState=activating SubState=auto-restart ExecMainStatus=1
  failed: exit code 1; it restarts soon
ActiveState=failed Result=exit-code ExecMainStatus=203
  failed: its program no longer exists; install it again
ActiveState=failed Result=start-limit-hit ExecMainStatus=1
  failed: it failed too often, and is not restarted
ActiveState=inactive
  stopped
`;

/** What launchd says of a job, and the state that it has. */
const JOBS = `
state = running, pid = 7, last exit code = (never exited)
  running: process 7
state = running, pid = 7, last exit code = 1
  running: process 7
state = spawn scheduled, last exit code = 78: EX_CONFIG
  failed: exit code 78: EX_CONFIG; it restarts soon
state = not running, last terminating signal = Killed: 9
  failed: a signal ended it: Killed: 9
state = spawn scheduled, last exit code = (never exited)
  starting
state = not running, last exit code = 0
  stopped
`;

const rowsOf = (table: string) =>
  table.trim().split(/\n(?! )/).map((row) => {
    const [shown = "", answer = ""] = row.split("\n  ");
    const [state, detail] = answer.split(/: (.*)/);
    return [shown, { state, ...(detail && { detail }) }] as const;
  });

Deno.test("stateOfUnit() and stateOfJob() read the state from the output of systemd and launchd", () => {
  const since = "Mon 2026-11-23 02:00:00 UTC";
  for (const [shown, state] of rowsOf(UNITS)) {
    const lines = ["LoadState=loaded", ...shown.split(" ")].join("\n");
    const text = `${lines}\nStateChangeTimestamp=${since}\n`;
    assertEquals<unknown>(stateOfUnit(text), { ...state, since }, shown);
  }
  assertEquals(stateOfUnit("LoadState=not-found\nActiveState=inactive\n"), {
    state: "stopped",
    detail: "load state of its unit: not-found",
  });
  for (const [shown, state] of rowsOf(JOBS)) {
    const lines = shown.replaceAll(", ", "\n\t");
    const text =
      `gui/501/smcp-server = {\n\t${lines}\n\tspawn type = daemon (3)\n\tpid local endpoints = {\n\t\tstate = active\n\t}\n}\n`;
    assertEquals<unknown>(stateOfJob(text), state, shown);
  }
});

Deno.test("whyUnusable() tells a container from a user without a session, and passes on other errors", () => {
  const messageOf = (stderr: string, isBooted: boolean) =>
    whyUnusable(
      { code: 1, stdout: "", stderr },
      "loginctl enable-linger ada",
      isBooted,
    );
  /** The words of systemctl without a session, in several versions. */
  const withoutSession = [
    "Failed to connect to bus: No medium found",
    "Failed to connect to bus: $DBUS_SESSION_BUS_ADDRESS and $XDG_RUNTIME_DIR not defined (consider using --machine=<user>@.host --user to connect to bus of other user)",
    "Failed to connect to user scope bus via local transport: No such file or directory",
  ];
  for (const stderr of withoutSession) {
    assertMatch(
      messageOf(stderr, true),
      /^you have no session of systemd \(Failed to connect.*not by su or sudo, .*"loginctl enable-linger ada" and "export XDG_RUNTIME_DIR=\/run\/user\/\$\(id -u\)"$/,
    );
    assertStringIncludes(
      messageOf(stderr, false),
      "systemd does not run here, as in most containers",
    );
  }
  assertEquals(
    messageOf("Odd.\nMore.", true),
    '"systemctl --user" failed: Odd.',
  );
});

/** Texts that formats of services could take apart. */
const HOSTILE: readonly string[] = [
  "with space",
  "%h %% $HOME $$ ${HOME} `id` $(id)",
  `"double" 'single' \\ back\\`,
  "; | & < > ]]> <!-- -->",
  "",
  " ends with a space ",
  "Grüße 世界 \u{1f600} \u202e",
  "#comment",
  "-@:+!",
  "a=b",
  "\u2028line\u2029paragraph",
];

/** Control characters, which only some places can hold. */
const CONTROLS = "\t\n\r\x01\x07\x1b\x7f\x85";

/** Any text that systemd takes for UTF-8. */
const anyText = (): fc.Arbitrary<string> =>
  fc.string({ unit: "binary", maxLength: 20 })
    .map((text) => text.replaceAll(/[\0\p{NChar}]/gu, ""));

/** Any text that a line can hold as it is. */
const anyLine = (): fc.Arbitrary<string> =>
  anyText().map((text) => text.replaceAll(/\p{Cc}/gu, ""));
