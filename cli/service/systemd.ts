/**
 * Services by systemd's user manager: the unit, starting and stopping, the state and the log.
 *
 * @module
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  checkText,
  madeBy,
  mustRun,
  type ProgramEnd,
  runProgram,
  type Service,
  type ServiceManager,
  type ServiceName,
  type ServiceState,
} from "./manager.ts";
import { present } from "../../shared/checks.ts";

/** Where systemd notes whose services run without a login. */
const LINGER = "/var/lib/systemd/linger";

/** What is there wherever systemd runs, by its own convention. */
const BOOTED = "/run/systemd/system";

/** Lines of the log that are shown. */
const LOG_LINES = 10;

/**
 * Manages a service by systemd's user manager.
 *
 * @param config the user's directory of configurations
 * @param user the user's name, if it is known
 */
export function systemd(
  name: ServiceName,
  config: string,
  user: string | undefined,
): ServiceManager {
  const unit = `${name}.service`;
  const file = join(config, "systemd", "user", unit);
  const linger = ["loginctl enable-linger", user].filter(Boolean).join(" ");
  const log = ["--user", `--user-unit=${unit}`];
  const ask = (...args: string[]) => runProgram("systemctl", "--user", ...args);
  const control = (...args: string[]) =>
    mustRun("systemctl", "--user", ...args);
  return {
    file,
    log: ["journalctl", ...log, "--follow"].join(" "),
    notes: user !== undefined && existsSync(join(LINGER, user)) ? [] : [
      `it starts when you log in, and ends when you log out; with "${linger}" it starts with the machine and stays`,
    ],
    define: unitText,
    async check() {
      const end = await ask("show", "--property=Version");
      if (end?.code === 0) return;
      throw new Error(whyUnusable(end, linger, existsSync(BOOTED)));
    },
    async start() {
      await control("daemon-reload");
      await control("enable", unit);
      // After too many failures it would not start.
      await ask("reset-failed", unit);
      await control("restart", unit);
    },
    async remove() {
      await control("disable", "--now", unit);
      rmSync(file);
      await control("daemon-reload");
      await ask("reset-failed", unit);
    },
    state: async () =>
      stateOfUnit(await control("show", unit, `--property=${SHOWN}`)),
    async lines() {
      const args = [`--lines=${LOG_LINES}`, "--no-pager", "--output=cat"];
      const end = await runProgram("journalctl", ...log, ...args);
      return end?.code === 0 ? end.stdout.split("\n").filter(Boolean) : [];
    },
  };
}

/**
 * Explains why the user manager cannot be used, with the remedy.
 *
 * @param end that of `systemctl --user`
 * @param linger the command that keeps the user's session
 * @param isBooted whether systemd runs on this machine
 */
export function whyUnusable(
  end: ProgramEnd,
  linger: string,
  isBooted: boolean,
): string {
  const byHand =
    'start the command by the supervisor of this machine; "service install --print" shows it';
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
    return `you have no session of systemd (${first}); log in as this user, not by su or sudo, or keep the session, by "${linger}" and "export XDG_RUNTIME_DIR=/run/user/$(id -u)"`;
  }
  return `"systemctl --user" failed: ${first}`;
}

/** Seconds between the end of a service that failed and its next start. */
const RESTART_SECONDS = 10;
/** So many starts in an hour are let happen: about twenty minutes of nothing but failures. */
const STARTS_PER_HOUR = 100;
/** The exit code of a wrong command line, which no restart mends. */
const WRONG_USAGE = 2;

/** What no line of a unit can hold, even escaped; for systemd it is no UTF-8. */
const UNFIT = /[\0\p{Cs}\p{NChar}]/u;
/** The same for paths and variables, which systemd refuses with control characters. */
const UNFIT_IN_PATH = /[\p{Cc}\p{Cs}\p{NChar}]/u;
/** What systemd refuses in the path of a program, even quoted. */
const UNFIT_IN_PROGRAM = /["'\\]/;

/**
 * Writes a unit of systemd's user manager.
 *
 * @throws {Error} for a text that a unit cannot hold
 */
export const unitText = (service: Service): string =>
  `# ${
    madeBy(service.name)
  }, which also changes it; "${service.name} service remove" deletes it.
[Unit]
Description=${service.summary}
StartLimitIntervalSec=1h
StartLimitBurst=${STARTS_PER_HOUR}

[Service]
Type=exec
ExecStart=${commandLine(service.command)}
WorkingDirectory=${directory(service.directory)}
${
    Object.entries(service.environment).map(assignment).join("")
  }Restart=on-failure
RestartSec=${RESTART_SECONDS}
RestartPreventExitStatus=${WRONG_USAGE}
# The command itself ends its processes.
KillMode=mixed

[Install]
WantedBy=default.target
`;

function commandLine([program = "", ...args]: readonly string[]): string {
  checkText("the path of the program", program, UNFIT_IN_PATH);
  const rest = args.map(argument);
  if (!UNFIT_IN_PROGRAM.test(program)) {
    // A program is no argument: "$" stands for itself in it.
    return [quote(program), ...rest].join(" ");
  }
  const shell = ["-c", 'exec "$0" "$@"', program].map(argument);
  return ['"/bin/sh"', ...shell, ...rest].join(" ");
}

/** Quotes an argument: systemd puts variables in place of "$NAME". */
const argument = (text: string): string =>
  quote(checkText("an argument", text, UNFIT)).replaceAll("$", "$$$$");

function assignment([name, value]: [string, string]): string {
  checkText(`the variable ${name}`, value, UNFIT_IN_PATH);
  return `Environment=${quote(`${name}=${value}`)}\n`;
}

/**
 * Writes a path that takes the rest of its line, where systemd reads no quotes.
 *
 * The end keeps a space from being cut off, and a backslash from continuing on the next line.
 */
const directory = (path: string): string =>
  checkText("the path of this folder", path, UNFIT_IN_PATH)
    .replaceAll("%", "%%") + (/[\s\\]$/.test(path) ? "/." : "");

/** Quotes a text as a string of C, in which "%" would stand for a specifier. */
const quote = (text: string): string =>
  `"${
    text.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%")
      .replaceAll(/\p{Cc}/gu, (sign) => `\\u${hex(sign).padStart(4, "0")}`)
  }"`;

const hex = (sign: string): string => sign.charCodeAt(0).toString(16);

/** The properties of a unit that {@linkcode stateOfUnit} reads. */
const SHOWN =
  "LoadState,ActiveState,SubState,Result,ExecMainStatus,MainPID,StateChangeTimestamp";

/** Reasons of a failure in words, by the `Result` of a unit or by systemd's own exit codes. */
const REASONS: Readonly<Record<string, string>> = {
  "start-limit-hit": "it failed too often, and is not restarted",
  "signal": "a signal ended it",
  "core-dump": "it crashed",
  "oom-kill": "the machine was out of memory",
  "timeout": "it did not start or stop in time",
  "resources":
    "its folder or its memory is missing; does its folder still exist?",
  "200": "its folder no longer exists; install it again in another",
  "203": "its program no longer exists; install it again",
};

/** Reads what `systemctl show` prints of a unit. */
export function stateOfUnit(output: string): ServiceState {
  const shown: Partial<Record<string, string>> = Object.fromEntries(
    output.split("\n").map((line) => {
      const sign = line.indexOf("=");
      return [line.slice(0, sign), line.slice(sign + 1).trim()];
    }),
  );
  const { LoadState, ActiveState, StateChangeTimestamp: since } = shown;
  if (LoadState !== "loaded") {
    const detail = `load state of its unit: ${LoadState || "unknown"}`;
    return { state: "stopped", detail };
  }
  const status = shown.ExecMainStatus ?? "0";
  const failure = REASONS[status] ?? REASONS[shown.Result ?? ""] ??
    `exit code ${status}`;
  const made = (state: ServiceState["state"], detail?: string) =>
    present({ state, since: since || undefined, detail });
  switch (ActiveState) {
    case "active":
    case "reloading":
      return made("running", `process ${shown.MainPID ?? "?"}`);
    case "activating":
      return shown.SubState === "auto-restart"
        ? made("failed", `${failure}; it restarts soon`)
        : made("starting");
    case "failed":
      return made("failed", failure);
    default:
      return made("stopped");
  }
}
