/**
 * Services by launchd: the property list, starting and stopping, the state and the log.
 *
 * @module
 */
import process from "node:process";
import { join } from "node:path";
import { open } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { rmSync, statSync } from "node:fs";
import { shellWord } from "../own_command.ts";
import {
  checkText,
  madeBy,
  mustRun,
  runProgram,
  type Service,
  type ServiceManager,
  type ServiceName,
  type ServiceState,
} from "./manager.ts";
import { readAt } from "../../shared/bytes.ts";

/** Lines of the log that are shown. */
const LOG_LINES = 10;
/** Bytes of the log that are read for them. */
const LOG_BYTES = 65_536;

/** Most of the looks whether a service is gone, and the time between two of them. */
const LOOKS = 300;
const LOOK_MS = 100;

/** Manages a service by launchd, as an agent of the user with a home directory. */
export function launchd(name: ServiceName, home: string): ServiceManager {
  const file = join(home, "Library", "LaunchAgents", `${name}.plist`);
  const logFile = join(home, "Library", "Logs", `${name}.log`);
  // Deno may forbid it; --print does without.
  const domain = () => `gui/${process.getuid?.()}`;
  const job = () => `${domain()}/${name}`;
  const printed = async () => {
    const end = await runProgram("launchctl", "print", job());
    return end?.code === 0 ? end.stdout : undefined;
  };
  /** Unloads the service: `bootout` returns before that is done, and a new one would be refused. */
  const unload = async () => {
    if (await printed() === undefined) return;
    await runProgram("launchctl", "bootout", job());
    for (let look = 0; look < LOOKS; look++) {
      if (await printed() === undefined) return;
      await setTimeout(LOOK_MS);
    }
    throw new Error(
      `launchd did not stop ${name} in ${LOOKS * LOOK_MS / 1000} seconds`,
    );
  };
  return {
    file,
    log: `tail -F ${shellWord(logFile)}`,
    notes: [],
    define: (service) => plistText(service, logFile),
    async check() {
      const end = await runProgram("launchctl", "print", domain());
      if (end?.code === 0) return;
      throw new Error(
        end === undefined
          ? "there is no launchctl here, which every macOS has; is PATH complete?"
          : "you have no session at this Mac's screen, which services of a user need; log in there, and run this again",
      );
    },
    async start() {
      await unload();
      await mustRun("launchctl", "enable", job());
      await mustRun("launchctl", "bootstrap", domain(), file);
    },
    async remove() {
      await unload();
      rmSync(file);
    },
    async state() {
      const output = await printed();
      if (output === undefined) {
        return { state: "stopped", detail: "launchd has not loaded it" };
      }
      const state = stateOfJob(output);
      const since = state.state === "running"
        ? await startOf(state.detail ?? "")
        // About when it failed; launchd does not record it.
        : statSync(logFile, { throwIfNoEntry: false })?.mtime.toString();
      return { ...state, ...(since !== undefined && { since }) };
    },
    lines: () => lastLines(logFile),
  };
}

/** Returns when a process was started. */
async function startOf(detail: string): Promise<string | undefined> {
  const [pid = ""] = /\d+/.exec(detail) ?? [];
  const end = await runProgram("ps", "-o", "lstart=", "-p", pid);
  return end?.code === 0 ? end.stdout.trim() : undefined;
}

/** Reads the end of a log, which may be large. */
async function lastLines(file: string): Promise<string[]> {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) return [];
  const log = await open(file);
  try {
    const start = Math.max(0, size - LOG_BYTES);
    const end = new TextDecoder().decode(await readAt(log, start, LOG_BYTES));
    // The first line may have lost its beginning.
    const whole = end.split("\n").slice(start > 0 ? 1 : 0);
    return whole.filter(Boolean).slice(-LOG_LINES);
  } finally {
    await log.close();
  }
}

/** Seconds between two starts of a service that failed; launchd has no other limit. */
const RESTART_SECONDS = 10;

/** What XML cannot hold, even escaped. */
const UNFIT = /(?![\t\n\r\x7f-\x9f])[\p{Cc}\p{Cs}\ufffe\uffff]/u;

/**
 * Writes a property list of launchd.
 *
 * @param log the file for what the service writes
 * @throws {Error} for a text that it cannot hold
 */
export const plistText = (service: Service, log: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${
    madeBy(service.name)
  }, which also changes it; "${service.name} service remove" deletes it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  ${string("the name", service.name)}
  <key>ProgramArguments</key>
  <array>
${
    service.command.map((text) => `    ${string("an argument", text)}\n`)
      .join("")
  }  </array>
  <key>WorkingDirectory</key>
  ${string("the path of this folder", service.directory)}
  <key>EnvironmentVariables</key>
  <dict>
${
    Object.entries(service.environment).map(([name, value]) =>
      `    <key>${escape(name)}</key>\n    ${
        string(`the variable ${name}`, value)
      }\n`
    ).join("")
  }  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>${RESTART_SECONDS}</integer>
  <key>StandardOutPath</key>
  ${string("the path of the log", log)}
  <key>StandardErrorPath</key>
  ${string("the path of the log", log)}
</dict>
</plist>
`;

const string = (what: string, text: string): string =>
  `<string>${escape(checkText(what, text, UNFIT))}</string>`;

/** Escapes a text for XML; a parser would take a line break of Windows for a plain one. */
const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll("\r", "&#13;");

/** The exit code and signal that launchd shows of a service that did not fail. */
const FINE = /^(0\b|\(never exited\))/;

/** Reads the output of `launchctl print` for a service; only its own fields have one tab before them. */
export function stateOfJob(output: string): ServiceState {
  const field = (name: string): string | undefined =>
    new RegExp(`^\\t${name} = (.*)$`, "m").exec(output)?.[1]?.trim();
  const pid = field("pid");
  const state = field("state");
  if (state === "running" && pid !== undefined) {
    return { state, detail: `process ${pid}` };
  }
  const signal = field("last terminating signal");
  const code = field("last exit code") ?? "0";
  if (signal !== undefined) {
    return { state: "failed", detail: `a signal ended it: ${signal}` };
  }
  if (!FINE.test(code)) {
    const detail = `exit code ${code}; it restarts soon`;
    return { state: "failed", detail };
  }
  return { state: state === "spawn scheduled" ? "starting" : "stopped" };
}
