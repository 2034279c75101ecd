/**
 * What systemd and launchd have in common: their interface, and how their programs are run.
 *
 * @module
 */
import process from "node:process";
import { execFile } from "node:child_process";
import type { CommandName } from "../own_command.ts";

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
  /** Notes for the user, once the service is installed. */
  readonly notes: readonly string[];
  /**
   * Writes the definition of a service.
   *
   * @throws {Error} for what it cannot hold
   */
  define(service: Service): string;
  /** @throws {Error} with the remedy, when it cannot be used here */
  check(): Promise<void>;
  /** Restarts the service as its file defines it, also at each login. */
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
