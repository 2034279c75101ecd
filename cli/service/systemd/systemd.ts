import { existsSync } from "node:fs";
import { join } from "node:path";
import { mustRun, type ProgramEnd, type RunProgram } from "../host.ts";
import type { ServiceManager, ServiceName } from "../service.ts";
import { SHOWN, stateOfUnit } from "./show.ts";
import { unitText } from "./unit.ts";

/** Where systemd notes whose services run without a login. */
const LINGER = "/var/lib/systemd/linger";

/** What is there wherever systemd runs, by its own convention. */
const BOOTED = "/run/systemd/system";

/** Lines of the log that are shown. */
const LOG_LINES = 10;

/** Who the services are of, and where that user keeps things. */
export interface SystemdUser {
  /** The directory of configurations. */
  readonly config: string;
  /** The user's name; absent if it is unknown. */
  readonly user?: string;
  /** Whether systemd runs on this machine; default: what the machine says. */
  readonly isBooted?: boolean;
}

/** Manages a service by systemd's user manager. */
export function systemd(
  name: ServiceName,
  { config, user, isBooted = existsSync(BOOTED) }: SystemdUser,
  run: RunProgram,
): ServiceManager {
  const unit = `${name}.service`;
  const file = join(config, "systemd", "user", unit);
  const own = user === undefined ? "" : ` ${user}`;
  const linger = `loginctl enable-linger${own}`;
  const control = (...args: string[]) =>
    mustRun(run, "systemctl", "--user", ...args);
  const log = ["--user", `--user-unit=${unit}`];
  return {
    file,
    notes: user !== undefined && existsSync(join(LINGER, user)) ? [] : [
      `it starts when you log in, and ends when you log out; with "${linger}" it starts with the machine and stays`,
    ],
    define: unitText,
    async check() {
      const end = await run(
        "systemctl",
        "--user",
        "show",
        "--property=Version",
      );
      if (end?.code !== 0) throw new Error(whyNot(end, isBooted, linger));
    },
    async start() {
      await control("daemon-reload");
      await control("enable", unit);
      // After too many failures it would not start.
      await run("systemctl", "--user", "reset-failed", unit);
      await control("restart", unit);
    },
    async stop() {
      await control("disable", "--now", unit);
    },
    async forget() {
      await control("daemon-reload");
      await run("systemctl", "--user", "reset-failed", unit);
    },
    async state() {
      return stateOfUnit(
        await control("show", unit, `--property=${SHOWN.join(",")}`),
      );
    },
    async log() {
      const end = await run(
        "journalctl",
        ...[...log, `--lines=${LOG_LINES}`, "--no-pager", "--output=cat"],
      );
      return {
        lines: end?.code === 0
          ? end.stdout.split("\n").filter((line) => line !== "")
          : [],
        command: ["journalctl", ...log, "--follow"].join(" "),
      };
    },
  };
}

/** Says why the user manager cannot be used, and what to do. */
function whyNot(
  end: ProgramEnd | undefined,
  isBooted: boolean,
  linger: string,
): string {
  const byHand =
    'let what starts programs here start the command; "service install --print" shows it';
  if (end === undefined) {
    return `there is no systemd here (no systemctl); ${byHand}`;
  }
  const { stderr } = end;
  const first = stderr.split("\n", 1)[0] || `exit code ${end.code}`;
  if (!isBooted || /not been booted with systemd/.test(stderr)) {
    return `systemd does not run here, as in most containers; ${byHand}`;
  }
  if (
    /connect to (user )?.*bus|XDG_RUNTIME_DIR|No medium found/i.test(stderr)
  ) {
    return `you have no session of systemd (${first}); log in as this user, not by su or sudo, or have the session kept, by "${linger}" and "export XDG_RUNTIME_DIR=/run/user/$(id -u)"`;
  }
  return `"systemctl --user" failed: ${first}`;
}
