import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "../../../support/child.ts";
import {
  type HomeOptions,
  serviceHome,
} from "../../../support/service/home.ts";

const UNIT = ".config/systemd/user/smcp-computer.service";
const PLIST = "Library/LaunchAgents/smcp-computer.plist";
const ENV_FILE = ".config/a2c-smcp/smcp-computer.env";
const LOG = "Library/Logs/smcp-computer.log";
const INSTALL = "service install --config c.json --office demo".split(" ");
const KEY = "a-key-that-nobody-sees";

/** The home of a user, where commands succeed. */
async function userHome(options?: HomeOptions) {
  const home = await serviceHome(options);
  const succeed = async (
    args: readonly string[],
    env?: Record<string, string>,
    role: "computer" | "server" = "computer",
  ) => {
    const { code, stdout, stderr } = await home.run(role, args, env);
    assertEquals(code, 0, stderr);
    return { stdout, stderr };
  };
  const modeOf = async (path: string) =>
    ((await stat(join(home.path, path))).mode & 0o777).toString(8);
  return { ...home, succeed, modeOf };
}

Deno.test("service install writes unit and credentials apart, and starts the unit", async () => {
  await using home = await userHome();
  const { stdout, stderr } = await home.succeed([...INSTALL, "--yes"], {
    SMCP_API_KEY: KEY,
    SMCP_NAME: "pc 100% $HOME",
    HTTPS_PROXY: "http://me:proxy-password@proxy:3128",
  });
  assertEquals(stderr, "");
  const unit = await home.read(UNIT);
  assertMatch(
    unit,
    /^ExecStart=".*\/deno" "run" "-A" ".*\/computer\/main\.ts" "run" "--wait" "--config=c\.json" "--office=demo" "--yes" "--name=pc 100%% \$\$HOME"$/m,
  );
  assertStringIncludes(unit, `\nWorkingDirectory=${home.folder}\n`);
  assertStringIncludes(
    unit,
    `\nEnvironment="SMCP_ENV_FILE=${join(home.path, ENV_FILE)}"\n`,
  );
  const variables = await home.read(ENV_FILE);
  assertMatch(variables, new RegExp(`^SMCP_API_KEY=${KEY}$`, "m"));
  assertMatch(variables, /^HTTPS_PROXY=http:\/\/me:proxy-password@/m);
  assertEquals(await home.modeOf(ENV_FILE), "600");
  assertEquals(await home.files(), [ENV_FILE, UNIT]);
  const calls = await home.calls();
  assertEquals(calls, [
    "systemctl --user show --property=Version",
    "systemctl --user daemon-reload",
    "systemctl --user enable smcp-computer.service",
    "systemctl --user reset-failed smcp-computer.service",
    "systemctl --user restart smcp-computer.service",
  ]);
  for (const text of [unit, stdout, ...calls]) {
    assertEquals(/a-key|proxy-password/.test(text), false, text);
  }
  assertMatch(stdout, /loginctl enable-linger ada/);
});

Deno.test("service install twice changes nothing, and with other options lists the changes", async () => {
  await using home = await userHome();
  const restarts = async () =>
    (await home.calls()).filter((call) => /restart/.test(call)).length;
  await home.succeed(INSTALL, { SMCP_TOKEN: KEY });
  assertEquals(await restarts(), 1);
  const again = await home.succeed(INSTALL, { SMCP_TOKEN: KEY });
  assertMatch(again.stdout, /^unchanged: .*\n.*is unchanged and runs$/m);
  assertEquals(await restarts(), 0);

  const { stdout } = await home.succeed([...INSTALL, "--watch"]);
  assertMatch(stdout, /SMCP_TOKEN kept/);
  assertMatch(stdout, /^changed: .*smcp-computer\.service$/m);
  assertMatch(stdout, /^ {2}- ExecStart=.* "--office=demo"$/m);
  assertMatch(stdout, /^ {2}\+ ExecStart=.* "--office=demo" "--watch"$/m);
  assertMatch(await home.read(ENV_FILE), new RegExp(`=${KEY}$`, "m"));
  assertEquals(await restarts(), 1);

  const other = await home.succeed(INSTALL, { SMCP_TOKEN: "other" });
  assertMatch(other.stdout, /SMCP_TOKEN changed/);
  assertEquals(other.stdout.includes("other"), false);

  await Deno.chmod(join(home.path, ENV_FILE), 0o644);
  const status = await home.succeed(["service", "status"]);
  assertMatch(status.stdout, /others can use it.*install it again/);
  const repaired = await home.succeed(INSTALL);
  assertMatch(repaired.stdout, /it was readable by others; now only by you/);
  assertEquals(await home.modeOf(ENV_FILE), "600");
});

Deno.test("service install takes the newest value of an input, from wherever it comes", async () => {
  await using home = await userHome();
  await home.write(
    "folder of tools/i.json",
    `{"servers": {}, "inputs": [{"type": "promptString", "id": "the-token", "description": ""}]}`,
  );
  const rows: [env: Record<string, string>, args: string[], value?: string][] =
    [
      [{}, []],
      [{}, ["--input", "the-token=1"], "1"],
      [{}, [], "1"],
      [{ SMCP_INPUT_THE_TOKEN: "2" }, [], "2"],
      [{ A2C_SMCP_the_token: "3" }, [], "3"],
    ];
  for (const [env, args, expected] of rows) {
    const all = [...INSTALL, "--config", "i.json", ...args];
    const { stdout } = await home.succeed(all, env);
    const [, value] = /^SMCP_INPUT_the-token=(.*)$/m
      .exec(await home.read(ENV_FILE)) ?? [];
    assertEquals(value, expected);
    const isMissing = /input "the-token" has no value/.test(stdout);
    assertEquals(isMissing, expected === undefined);
  }
});

Deno.test("service install --print writes and starts nothing, and shows no credential", async () => {
  await using home = await userHome();
  const { stdout, stderr } = await home.succeed([
    ...[...INSTALL, "--print", "--api-key", KEY, "--plain"],
    // A credential, also without http://.
    ...["--proxy", `ada:${KEY}@proxy.example:3128`],
    // A topic that nobody guesses.
    ...["--notify-url", `https://ntfy.example/${KEY}`],
  ]);
  assertEquals([...await home.files(), ...await home.calls()], []);
  assertMatch(stdout, /^# Made by smcp-computer service install/);
  assertStringIncludes(
    stderr,
    `would write ${join(home.path, ENV_FILE)}, readable only by you:
  SMCP_API_KEY=(not shown)
  SMCP_PROXY=(not shown)
  SMCP_NOTIFY_URL=(not shown)
would write ${join(home.path, UNIT)}:
`,
  );
  assertEquals(stdout.includes("--plain"), false);
  assertEquals((stdout + stderr).includes(KEY), false);
});

Deno.test("service install warns that no person can be asked, unless there is a page or --yes", async () => {
  await using home = await userHome();
  const warns = async (...flags: string[]) => {
    const { stdout, stderr } = await home.succeed([...INSTALL, ...flags]);
    return /a service has no terminal, .* with --yes or --ui/
      .test(stdout + stderr);
  };
  assertEquals(
    [await warns(), await warns("--ui"), await warns("--yes")],
    [true, false, false],
  );
});

Deno.test("service status shows since when it runs, and the log without control characters; of a failed one it exits 1", async () => {
  await using home = await userHome();
  await home.succeed(INSTALL);
  assertEquals(
    (await home.succeed(["service", "status"])).stdout,
    `smcp-computer: running since Mon 2026-11-23 02:00:00 UTC (process 4711)
  definition: ${join(home.path, UNIT)}
  credentials: ${join(home.path, ENV_FILE)}
  log: journalctl --user --user-unit=smcp-computer.service --follow
last lines of the log:
  joined office demo
  ⟨U+001B⟩[2Jcleared
`,
  );
  await home.write(
    "state/unit",
    "LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\n",
  );
  const end = await home.run("computer", ["service", "status"]);
  assertEquals(end.code, 1);
  assertMatch(end.stdout, /^smcp-computer: failed \(exit code 2\)$/m);
  assertEquals(
    end.stderr,
    "error: smcp-computer does not run; see its log\n",
  );
});

Deno.test("service remove deletes the files of install, and nothing else", async () => {
  await using home = await userHome();
  await home.write(".config/systemd/user/other.service", "[Service]\n");
  await home.write(".config/a2c-smcp/notes.txt", "mine\n");
  const before = await home.files();
  await home.succeed(INSTALL, { SMCP_TOKEN: KEY });
  await home.calls();
  const { stderr } = await home.succeed(["service", "remove"]);
  assertEquals(stderr, "");
  assertEquals(await home.files(), before);
  assertEquals((await home.calls()).slice(1), [
    "systemctl --user disable --now smcp-computer.service",
    "systemctl --user daemon-reload",
    "systemctl --user reset-failed smcp-computer.service",
  ]);
  const again = await home.succeed(["service", "remove"]);
  assertMatch(again.stdout, /not installed as a service: nothing to remove/);
});

Deno.test("on a Mac, a service has a plist, is loaded again once the old one is gone, shows its log and is removed", async () => {
  await using home = await userHome({ platform: "darwin" });
  await home.succeed(INSTALL, { SMCP_API_KEY: KEY });
  assertEquals(await home.files(), [ENV_FILE, PLIST]);
  const plist = await home.read(PLIST);
  assertStringIncludes(plist, "<string>--office=demo</string>");
  assertStringIncludes(plist, `<string>${join(home.path, LOG)}</string>`);
  assertEquals(plist.includes(KEY), false);
  assertMatch(await home.read(ENV_FILE), new RegExp(`=${KEY}$`, "m"));
  assertEquals(await home.calls(), [
    "launchctl print gui/1000",
    "launchctl print gui/1000/smcp-computer",
    "launchctl enable gui/1000/smcp-computer",
    `launchctl bootstrap gui/1000 ${join(home.path, PLIST)}`,
  ]);

  const changed = await home.succeed([...INSTALL, "--watch"]);
  assertMatch(changed.stdout, /^ {2}\+ *<string>--watch<\/string>$/m);
  const calls = await home.calls();
  const [out, into] = ["bootout", "bootstrap"].map((word) =>
    calls.findIndex((call) => call.includes(word))
  );
  const waits = calls.slice(out, into).filter((call) => /print/.test(call));
  assertEquals(waits.length, 2);

  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} ä`);
  await home.write(LOG, `${lines.join("\n")}\n`);
  const { stdout } = await home.succeed(["service", "status"]);
  assertStringIncludes(
    stdout,
    "smcp-computer: running since Mon Nov 23 02:00:00 2026 (process 4711)\n",
  );
  assertMatch(stdout, /log: tail -F .*smcp-computer\.log$/m);
  assertStringIncludes(
    stdout,
    `last lines of the log:\n  ${lines.slice(-10).join("\n  ")}\n`,
  );

  await home.succeed(["service", "remove"]);
  assertEquals(await home.files(), [LOG]);
  assertMatch(
    (await home.calls()).join("\n"),
    /bootout gui\/1000\/smcp-computer/,
  );
});

Deno.test("the Server's service has few permissions, and keeps keys and passwords in its file alone, until they are given as a file", async () => {
  await using home = await userHome();
  const keys = '[{"key": "a-key-that-nobody-can-guess-at-all", "id": "me"}]';
  const unitFile = ".config/systemd/user/smcp-server.service";
  const envFile = ".config/a2c-smcp/smcp-server.env";
  const redis = "redis://me:hidden-word@127.0.0.1:6379";
  const install = (flags: string[], env: Record<string, string> = {}) =>
    home.succeed(["service", "install", ...flags], env, "server");
  const { stdout } = await install(
    ["--ping-interval", "30", "--cluster", redis],
    {
      SMCP_API_KEYS: keys,
      SMCP_JWT_SECRET: "s".repeat(40),
      SMCP_MCP: "1",
      SMCP_METRICS: "0",
    },
  );
  const unit = await home.read(unitFile);
  assertMatch(
    unit,
    /^ExecStart=".*" "run" "--allow-net" "--allow-env" "--allow-read" ".*\/server\/main\.ts" "--ping-interval=30" "--mcp"$/m,
  );
  assertEquals(/can-guess|sssss|hidden-word/.test(unit + stdout), false);
  const variables = await home.read(envFile);
  assertStringIncludes(variables, `\nSMCP_API_KEYS=${keys}\n`);
  assertStringIncludes(variables, `\nSMCP_JWT_SECRET=${"s".repeat(40)}\n`);
  assertStringIncludes(variables, `\nSMCP_CLUSTER=${redis}\n`);

  // It would be refused without the keys that it has.
  const open = await install(["--host", "0.0.0.0"]);
  assertStringIncludes(open.stdout, "SMCP_API_KEYS kept");
  await home.write("folder of tools/keys.json", keys);
  const file = await install(["--api-keys=keys.json"]);
  assertStringIncludes(file.stdout, "SMCP_API_KEYS removed");
  assertMatch(await home.read(unitFile), /"--api-keys=keys\.json"$/m);
  assertEquals((await home.read(envFile)).includes("guess"), false);
});

/** A place where no service can be installed, or a command line that none may have. */
interface Refusal {
  readonly name: string;
  readonly options?: HomeOptions;
  /** Files of the home directory, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Record<string, string>;
  readonly role?: "server";
  /** The command line; default: an installation. */
  readonly args?: readonly string[];
  readonly code?: number;
  readonly says: RegExp;
}

const REFUSALS: readonly Refusal[] = [
  {
    name: "for root",
    env: { TEST_UID: "0" },
    says: /would run as root, .*run this as the user .*without sudo/,
  },
  {
    name: "without systemd",
    options: { programs: {} },
    says: /no systemd here \(no systemctl\).*"service install --print" shows/,
  },
  {
    name: "in a container",
    files: {
      "state/no-bus":
        "System has not been booted with systemd as init system (PID 1). Can't operate.\nFailed to connect to bus: Host is down\n",
    },
    says:
      /systemd does not run here, as in most containers; start the command by/,
  },
  {
    name: "on Windows",
    options: { platform: "win32" },
    says: /Task Scheduler .*schtasks \/Create \/SC ONLOGON \/TN smcp-computer/,
  },
  {
    name: "on a Mac without a session",
    options: { platform: "darwin" },
    files: { "state/no-session": "x" },
    says: /no session at this Mac's screen.*log in there/,
  },
  {
    name: "over a unit of somebody else",
    files: { [UNIT]: "[Service]\n" },
    says: /smcp-computer\.service was not made by .*is kept; move it away/,
  },
  {
    name: "over credentials of somebody else",
    files: { [ENV_FILE]: "A=b\n" },
    says: /smcp-computer\.env was not made by .*is kept; move it away/,
  },
  {
    name: "with a credential file that was broken by hand",
    files: {
      [ENV_FILE]: "# Made by smcp-computer service install\nhunter2\n",
    },
    says: /smcp-computer\.env:2: expected NAME=VALUE/,
  },
  {
    name: "with a configuration that is missing",
    args: [...INSTALL, "--config", "missing.json"],
    says: /missing\.json: .*there is no such file/,
  },
  {
    name: "with a value for no input",
    args: [...INSTALL, "--input", "token=hunter2"],
    code: 2,
    says: /--input token=…: c\.json has no input "token"/,
  },
  {
    name: "with an address that is none",
    args: [...INSTALL, "--url", "localhost"],
    says: /"localhost": expected a URL such as/,
  },
  {
    name: "when there is none whose status could be shown",
    args: ["service", "status"],
    says: /not installed as a service .*"smcp-computer service install --help"/,
  },
  {
    name: "of a Server that everybody could reach",
    role: "server",
    args: ["service", "install", "--host", "0.0.0.0"],
    code: 2,
    says: /cannot listen on .*; use --api-keys/,
  },
];

for (
  const { name, options, files = {}, env, role, args = INSTALL, code = 1, says }
    of REFUSALS
) {
  Deno.test(`a service is refused in one line ${name}, and nothing is written`, async () => {
    await using home = await serviceHome(options);
    for (const [path, text] of Object.entries(files)) {
      await home.write(path, text);
    }
    const before = await home.files();
    const end = await home.run(role ?? "computer", args, env);
    assertMatch(end.stderr, /^error: [^\n]*\n$/);
    assertMatch(end.stderr, says);
    assertEquals(end.stderr.includes("hunter2"), false);
    assertEquals(end.code, code);
    assertEquals(await home.files(), before);
    const starts = (await home.calls()).filter((call) =>
      /restart|enable|bootstrap/.test(call)
    );
    assertEquals(starts, []);
  });
}

Deno.test("a service that systemd does not start is an error with systemd's words", async () => {
  await using home = await serviceHome();
  await home.write("state/broken", "Job for smcp-computer.service failed.\n");
  const end = await home.run("computer", INSTALL);
  assertEquals(end.code, 1);
  assertEquals(
    end.stderr,
    'error: "systemctl --user restart smcp-computer.service" failed: Job for smcp-computer.service failed.\n',
  );
});

Deno.test("without Deno's permissions, service install says how to get on", async () => {
  const main = new URL("../../../../server/main.ts", import.meta.url);
  await using install = start(Deno.execPath(), [
    ...["run", "--quiet", "--frozen", "--no-prompt"],
    ...["--allow-net", "--allow-env", "--allow-read"],
    ...[fileURLToPath(main), "service", "install"],
  ]);
  assertEquals((await install.status).code, 1);
  assertMatch(
    install.lines.join("\n"),
    /^error: Deno does not permit that \(Requires sys access to "uid"\); start it with "deno run -A", .*"--print" shows$/,
  );
});
