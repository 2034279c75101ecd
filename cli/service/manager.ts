/**
 * What manages the services of a user, and how its programs are run.
 *
 * @module
 */
import process from "node:process";
import { execFile } from "node:child_process";
import { isAbsolute, join } from "node:path";
import type { CommandName } from "../own_command.ts";
import { launchd } from "./launchd.ts";
import { systemd } from "./systemd.ts";

/** The name of a service, which is that of its command. */
export type ServiceName = CommandName & ("smcp-computer" | "smcp-server");

/** A service that runs a command, whatever manages services here. */
export interface Service {
  /** Its name. */
  readonly name: ServiceName;
  /** What it is, in a few words. */
  readonly summary: string;
  /** The absolute path of a program, and its arguments. */
  readonly command: readonly string[];
  /** The working directory. */
  readonly directory: string;
  /** Environment variables; none is a credential. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a service does. */
export interface ServiceState {
  /** Whether it runs; `failed` as long as it is not started again. */
  readonly state: "running" | "starting" | "stopped" | "failed";
  /** Since when, as the manager writes it. */
  readonly since?: string;
  /** The process, or why it failed. */
  readonly detail?: string;
}

/** What manages a service of a user: systemd or launchd. */
export interface ServiceManager {
  /** The file that defines the service. */
  readonly file: string;
  /** The command that shows its log. */
  readonly log: string;
  /** What a person may want to know once the service is installed. */
  readonly notes: readonly string[];
  /**
   * Writes the definition of a service.
   *
   * @throws {Error} for what it cannot hold
   */
  define(service: Service): string;
  /** @throws {Error} that says what to do, when it cannot be used here */
  check(): Promise<void>;
  /** Starts the service anew as its file defines it, and at each login. */
  start(): Promise<void>;
  /** Stops the service, also for the next logins, and deletes its file. */
  remove(): Promise<void>;
  /** Returns what the service does. */
  state(): Promise<ServiceState>;
  /** Returns the last lines of its log; none where they cannot be read. */
  lines(): Promise<readonly string[]>;
}

/** A part of the first lines of each file that `install` makes; other files are left alone. */
export const madeBy = (name: ServiceName): string =>
  `Made by ${name} service install`;

/** Checks that a definition can hold a text. */
export function checkText(what: string, text: string, unfit: RegExp): string {
  if (!unfit.test(text)) return text;
  throw new Error(
    `${what} has a character that a service cannot have: ${
      JSON.stringify(text)
    }; rename it`,
  );
}

/** A service of this user: what manages it, and the file with its credentials. */
export interface UserService extends ServiceManager {
  /** The file with its credentials. */
  readonly envFile: string;
}

/**
 * Finds out what manages the services of this user.
 *
 * @throws {Error} that says what to do instead, where nothing does
 */
export function userService(name: ServiceName): UserService {
  const { platform, env } = process;
  if (platform === "win32") {
    throw new Error(
      `Windows has no services of a user; let the Task Scheduler start the command at log on: schtasks /Create /SC ONLOGON /TN ${name} /TR "COMMAND", with credentials in a file that the variable SMCP_ENV_FILE names`,
    );
  }
  const home = env.HOME ?? "";
  if (!isAbsolute(home)) {
    throw new Error(
      "the environment variable HOME does not name your home directory; set it",
    );
  }
  const chosen = env.XDG_CONFIG_HOME ?? "";
  const config = isAbsolute(chosen) ? chosen : join(home, ".config");
  const manager = platform === "darwin"
    ? launchd(name, home)
    : systemd(name, config, env.USER || env.LOGNAME || undefined);
  return {
    ...manager,
    envFile: join(config, "a2c-smcp", `${name}.env`),
    async check() {
      if (process.getuid?.() === 0) {
        throw new Error(
          `this is root, and ${name} would run as root at root's logins; run this as the user that the service is for, without sudo`,
        );
      }
      await manager.check();
    },
  };
}

/** Log lines can be long. */
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

/**
 * Runs a program of the system to its end, in English.
 *
 * @returns its exit code, 1 if a signal ended it, what it wrote to stdout, and what it wrote to stderr,
 * without white space around it; `undefined` if there is no such program
 */
export const runProgram = (
  program: string,
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string } | undefined> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    const options = { env, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error?.code === "ENOENT") return resolve(undefined);
      if (error && typeof error.code === "string") return reject(error);
      const code = error ? Number(error.code ?? 1) : 0;
      resolve({ code, stdout, stderr: stderr.trim() });
    });
  });

/** The end of a program; `undefined` if there is no such program. */
export type ProgramEnd = Awaited<ReturnType<typeof runProgram>>;

/**
 * Runs a program that has to succeed.
 *
 * @returns what it wrote to stdout
 * @throws {Error} with its message
 */
export async function mustRun(
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const end = await runProgram(program, ...args);
  if (end?.code === 0) return end.stdout;
  const reason = end === undefined
    ? "there is no such program"
    : end.stderr.replaceAll(/\s*\n\s*/g, " ") || `exit code ${end.code}`;
  throw new Error(`"${[program, ...args].join(" ")}" failed: ${reason}`);
}
