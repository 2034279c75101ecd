import { assertEquals, assertMatch } from "@std/assert";
import {
  type HomeOptions,
  serviceHome,
} from "../../../support/service/home.ts";

/** A place where no service can be installed. */
interface Refusal {
  readonly name: string;
  readonly options?: HomeOptions;
  /** Files of the home directory, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Record<string, string>;
  /** The whole command line; default: an installation. */
  readonly args?: readonly string[];
  readonly code?: number;
  readonly says: RegExp;
}

const INSTALL = [
  "service",
  "install",
  "--config",
  "c.json",
  "--office",
  "demo",
];

const REFUSALS: readonly Refusal[] = [
  {
    name: "for root",
    env: { TEST_UID: "0" },
    says: /this is root, .*run this as the user .*without sudo/,
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
    says: /systemd does not run here, as in most containers; let what starts/,
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
    files: { ".config/systemd/user/smcp-computer.service": "[Service]\n" },
    says: /smcp-computer\.service is not made by .*left alone; move it away/,
  },
  {
    name: "over credentials of somebody else",
    files: { ".config/a2c-smcp/smcp-computer.env": "A=b\n" },
    says: /smcp-computer\.env is not made by .*left alone; move it away/,
  },
  {
    name: "with a credential file that was broken by hand",
    files: {
      ".config/a2c-smcp/smcp-computer.env":
        "# Made by smcp-computer service install\nhunter2\n",
    },
    says: /smcp-computer\.env:2: expected NAME=VALUE/,
  },
  {
    name: "without a configuration",
    args: ["service", "install", "--office", "demo"],
    code: 2,
    says: /--config <file>' not specified; give it, or set SMCP_CONFIG/,
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
    name: "when there is nothing to tell the status of",
    args: ["service", "status"],
    says: /not installed as a service .*"smcp-computer service install --help"/,
  },
];

for (
  const { name, options, files = {}, env, args = INSTALL, code = 1, says }
    of REFUSALS
) {
  Deno.test(`a service is refused in one line ${name}, and nothing is written`, async () => {
    await using home = await serviceHome(options);
    for (const [path, text] of Object.entries(files)) {
      await home.write(path, text);
    }
    const before = await home.files();
    const end = await home.run("computer", args, env);
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
