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

/** The end of a service's log. */
export interface ServiceLog {
  /** The last lines; none where they cannot be read. */
  readonly lines: readonly string[];
  /** The command that shows the log. */
  readonly command: string;
}

/** What manages the services of a user: systemd or launchd. */
export interface ServiceManager {
  /** The file that defines the service. */
  readonly file: string;
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
  /** Stops the service, also for the next logins. */
  stop(): Promise<void>;
  /** Takes notice that the file is deleted. */
  forget(): Promise<void>;
  /** Returns what the service does. */
  state(): Promise<ServiceState>;
  /** Returns the end of its log. */
  log(): Promise<ServiceLog>;
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
