import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { serviceHome } from "../../../support/service/home.ts";

const UNIT = ".config/systemd/user/smcp-computer.service";
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

const modeOf = async (...path: string[]) =>
  ((await stat(join(...path))).mode & 0o777).toString(8);

Deno.test("service install writes unit and credentials apart, and starts the unit", async () => {
  await using home = await serviceHome();
  const end = await home.run("computer", [...INSTALL, "--yes"], {
    SMCP_API_KEY: KEY,
    SMCP_NAME: "pc 100% $HOME",
    HTTPS_PROXY: "http://me:proxy-password@proxy:3128",
  });
  assertEquals([end.code, end.stderr], [0, ""]);
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
  assertEquals(await modeOf(home.path, ENV_FILE), "600");
  assertEquals(await home.files(), [ENV_FILE, UNIT]);
  const calls = await home.calls();
  assertEquals(calls, [
    "systemctl --user show --property=Version",
    "systemctl --user daemon-reload",
    "systemctl --user enable smcp-computer.service",
    "systemctl --user reset-failed smcp-computer.service",
    "systemctl --user restart smcp-computer.service",
  ]);
  for (const text of [unit, end.stdout, ...calls]) {
    assertEquals(/a-key|proxy-password/.test(text), false, text);
  }
  assertMatch(end.stdout, /loginctl enable-linger ada/);
});

Deno.test("service install twice changes nothing, and with other options says what", async () => {
  await using home = await serviceHome();
  await home.run("computer", INSTALL, { SMCP_TOKEN: KEY });
  await home.calls();
  const again = await home.run("computer", INSTALL, { SMCP_TOKEN: KEY });
  assertMatch(again.stdout, /^unchanged: .*\n.*runs as before$/m);
  assertEquals((await home.calls()).filter((call) => /restart/.test(call)), []);

  const { stdout } = await home.run("computer", [...INSTALL, "--watch"]);
  assertMatch(stdout, /SMCP_TOKEN kept/);
  assertMatch(stdout, /^changed: .*smcp-computer\.service$/m);
  assertMatch(stdout, /^ {2}- ExecStart=.* "--office=demo"$/m);
  assertMatch(stdout, /^ {2}\+ ExecStart=.* "--office=demo" "--watch"$/m);
  assertMatch(await home.read(ENV_FILE), new RegExp(`=${KEY}$`, "m"));
  assertEquals(
    (await home.calls()).filter((call) => /restart/.test(call)).length,
    1,
  );

  const other = await home.run("computer", INSTALL, { SMCP_TOKEN: "other" });
  assertMatch(other.stdout, /SMCP_TOKEN changed/);
  assertEquals(other.stdout.includes("other"), false);
});

Deno.test("service install takes the newest value of an input, from wherever it comes", async () => {
  await using home = await serviceHome();
  const id = "the-token";
  await home.write(
    "folder of tools/i.json",
    JSON.stringify({
      inputs: [{ type: "promptString", id, description: "" }],
      servers: {},
    }),
  );
  const install = async (env: Record<string, string>, ...args: string[]) => {
    const all = [...INSTALL, "--config", "i.json", ...args];
    const { code, stdout } = await home.run("computer", all, env);
    assertEquals(code, 0);
    const [, value] = /^SMCP_INPUT_the-token=(.*)$/m.exec(
      await home.read(ENV_FILE),
    ) ?? [];
    return [value, /input "the-token" has no value/.test(stdout)];
  };
  assertEquals(await install({}), [undefined, true]);
  assertEquals(await install({}, "--input", `${id}=1`), ["1", false]);
  assertEquals(await install({}), ["1", false]);
  assertEquals(await install({ SMCP_INPUT_THE_TOKEN: "2" }), ["2", false]);
  assertEquals(await install({ A2C_SMCP_the_token: "3" }), ["3", false]);
});

Deno.test("service install repairs a file of credentials that others could read", async () => {
  await using home = await serviceHome();
  await home.run("computer", INSTALL, { SMCP_TOKEN: KEY });
  await Deno.chmod(join(home.path, ENV_FILE), 0o644);
  const told = await home.run("computer", ["service", "status"]);
  assertMatch(told.stdout, /others can use it.*install it again/);
  const { stdout } = await home.run("computer", INSTALL);
  assertMatch(stdout, /others could read it; now only you can/);
  assertEquals(await modeOf(home.path, ENV_FILE), "600");
});

Deno.test("service install --print writes and starts nothing, and shows no credential", async () => {
  await using home = await serviceHome();
  const end = await home.run("computer", [
    ...[...INSTALL, "--print", "--api-key", KEY, "--plain"],
  ]);
  assertEquals(end.code, 0);
  assertEquals(await home.files(), []);
  assertEquals(await home.calls(), []);
  assertMatch(end.stdout, /^# Made by smcp-computer service install/);
  assertStringIncludes(
    end.stderr,
    `would write ${join(home.path, ENV_FILE)}, for your eyes only:
  SMCP_API_KEY=(not shown)
would write ${join(home.path, UNIT)}:
`,
  );
  assertEquals(end.stdout.includes("--plain"), false);
  assertEquals((end.stdout + end.stderr).includes(KEY), false);
});

Deno.test("service install takes a proxy's user and password for a credential, also without http://", async () => {
  await using home = await serviceHome();
  const end = await home.run("computer", [
    ...[...INSTALL, "--print", "--proxy", `ada:${KEY}@proxy.example:3128`],
  ]);
  assertEquals(end.code, 0, end.stderr);
  assertStringIncludes(end.stderr, "\n  SMCP_PROXY=(not shown)\n");
  assertEquals((end.stdout + end.stderr).includes(KEY), false);
});

Deno.test("service install says that nobody can be asked, unless there is a page or --yes", async () => {
  await using home = await serviceHome();
  const said = async (...flags: string[]) => {
    const { code, stdout, stderr } = await home.run("computer", [
      ...INSTALL,
      ...flags,
    ]);
    assertEquals(code, 0, stderr);
    return /a service can ask nobody, .* with --yes or --ui/
      .test(stdout + stderr);
  };
  assertEquals(
    [await said(), await said("--ui"), await said("--yes")],
    [true, false, false],
  );
});

Deno.test("service status tells since when it runs, and the log without control characters", async () => {
  await using home = await serviceHome();
  await home.run("computer", INSTALL);
  const end = await home.run("computer", ["service", "status"]);
  assertEquals([end.code, end.stderr], [0, ""]);
  assertEquals(
    end.stdout,
    `smcp-computer: running since Mon 2026-11-23 02:00:00 UTC (process 4711)
  definition: ${join(home.path, UNIT)}
  credentials: ${join(home.path, ENV_FILE)}
  log: journalctl --user --user-unit=smcp-computer.service --follow
last lines of the log:
  joined office demo
  \\u{1b}[2Jcleared
`,
  );
});

Deno.test("service status of a failed service says why, and exits 1", async () => {
  await using home = await serviceHome();
  await home.run("computer", INSTALL);
  await home.write(
    "state/unit",
    "LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=2\n",
  );
  const end = await home.run("computer", ["service", "status"]);
  assertEquals(end.code, 1);
  assertMatch(end.stdout, /^smcp-computer: failed \(exit code 2\)$/m);
  assertEquals(
    end.stderr,
    "error: smcp-computer does not run; its log says why\n",
  );
});

Deno.test("service remove deletes what install wrote, and nothing else", async () => {
  await using home = await serviceHome();
  await home.write(".config/systemd/user/other.service", "[Service]\n");
  await home.write(".config/a2c-smcp/notes.txt", "mine\n");
  const before = await home.files();
  await home.run("computer", INSTALL, { SMCP_TOKEN: KEY });
  await home.calls();
  const end = await home.run("computer", ["service", "remove"]);
  assertEquals([end.code, end.stderr], [0, ""]);
  assertEquals(await home.files(), before);
  assertEquals((await home.calls()).slice(1), [
    "systemctl --user disable --now smcp-computer.service",
    "systemctl --user daemon-reload",
    "systemctl --user reset-failed smcp-computer.service",
  ]);
  const again = await home.run("computer", ["service", "remove"]);
  assertEquals(again.code, 0);
  assertMatch(again.stdout, /not installed as a service; nothing to remove/);
});
