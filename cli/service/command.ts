/**
 * The subcommand `service`, and the files and variables of a service.
 *
 * @module
 */
import process from "node:process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { type Command, Option } from "commander";
import { addHelp } from "../flags.ts";
import {
  ENV_FILE_VARIABLE,
  formatEnvFile,
  isExposed,
  parseEnvFile,
  PRIVATE_MODE,
  type Variables,
} from "../env_file.ts";
import { UsageError } from "../run.ts";
import { type FindSecret, recordGiven } from "./install.ts";
import { madeBy, type Place, type ServiceName } from "./manager.ts";
import { NETWORK_VARIABLES } from "../../shared/network_variables.ts";

/** Adds the subcommand `service` to a program. */
export function addService<Flags extends object>(
  program: Command,
  role: ServiceRole<Flags>,
): void {
  const { name } = role;
  // An option before the subcommand would be one of the program, and without effect.
  program.enablePositionalOptions();
  const service = addHelp(
    program.command("service"),
    "Keep it running: a service of this user, by systemd or launchd",
    [
      `${name} service install ${role.example}`.trimEnd(),
      `${name} service status`,
      `${name} service remove`,
    ],
  );
  const installs = addHelp(
    service.command("install"),
    "Start it now and at each login, with these options; or change them",
    [
      `${name} service install ${role.example}`.trimEnd(),
      `${name} service install --print ${role.example}`.trimEnd(),
    ],
  ).addOption(
    new Option("--print", "show what would be written, but write nothing"),
  );
  const read = recordGiven(
    role.addFlags(installs),
    ["--print", ...role.except],
    role.findSecret,
  );
  installs.action(async (flags: Flags & { print?: boolean }) => {
    checkNoneBefore(program);
    const request = {
      role,
      given: read(),
      flags,
      command: installs,
      isShown: flags.print === true,
    };
    const { install } = await import("./install.ts");
    await withHost((run) => install(request, place(), run));
  });
  addHelp(
    service.command("status"),
    "Tell whether it runs, since when, and the last lines of its log",
    [`${name} service status`],
  ).action(async () => {
    const { status } = await import("./status.ts");
    await withHost((run) => status(name, place(), run));
  });
  addHelp(
    service.command("remove"),
    "Stop it, and delete what install has written",
    [`${name} service remove`],
  ).action(async () => {
    const { remove } = await import("./status.ts");
    await withHost((run) => remove(name, place(), run));
  });
}

const place = (): Place => ({
  platform: process.platform,
  env: process.env,
  uid: () => process.getuid?.() ?? -1,
});

/** @throws {UsageError} for options before `service`, which would get lost */
function checkNoneBefore(program: Command): void {
  const early = program.options.find((option) =>
    program.getOptionValueSource(option.attributeName()) === "cli"
  );
  if (early === undefined) return;
  throw new UsageError(
    `${early.long} stands before "service", where it does nothing; write it after "install"`,
  );
}

async function withHost(
  use: (run: typeof import("./manager.ts").runProgram) => Promise<void>,
): Promise<void> {
  const { runProgram } = await import("./manager.ts");
  try {
    await use(runProgram);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "NotCapable") throw error;
    throw new Error(
      `Deno does not let this command do that (${
        error.message.split(",")[0]
      }); start it with "deno run -A", use the command smcp, or put in place yourself what "--print" shows`,
    );
  }
}

/** What the checks of a role found. */
export interface RoleCheck {
  /** Variables that the service needs of this environment, and that may be credentials. */
  readonly variables: Variables;
  /** What a person should know. */
  readonly notes: readonly string[];
}

/** What a command is as a service. */
export interface ServiceRole<Flags extends object> {
  /** Its name. */
  readonly name: ServiceName;
  /** What it is, in a few words. */
  readonly summary: string;
  /** Options in the examples of the help. */
  readonly example: string;
  /** The words before the options. */
  readonly words: readonly string[];
  /** Adds the options of the command. */
  addFlags(command: Command): Command;
  /** Options that do nothing in a service. */
  readonly except: readonly string[];
  /** Finds credentials among the options. */
  readonly findSecret: FindSecret;
  /** Returns Deno's flags for the command. */
  permissions(flags: Flags): readonly string[];
  /**
   * Checks the options as the command itself would, as far as that is possible now.
   *
   * @param env this environment
   * @param kept further variables that the service has already
   * @throws {Error} for what the service would fail with
   */
  check(
    flags: Flags,
    env: Readonly<Record<string, string | undefined>>,
    kept: Variables,
  ): Promise<RoleCheck>;
}

/** Where programs and files of a user are; a service has a small environment of its own. */
const PLACES = [
  "PATH",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "A2C_SKILL_HOME",
  "DENO_DIR",
];

/** The variables of a service. */
interface ServiceVariables {
  /** Those that everybody may see. */
  readonly open: Variables;
  /** Those for the file of credentials. */
  readonly secret: Variables;
}

/**
 * Picks what a service needs of this environment: without it, it would not find the programs that
 * are found here, or the network.
 */
export function pickVariables(
  env: Readonly<Record<string, string | undefined>>,
  envFile: string,
): ServiceVariables {
  const picked = [...PLACES, ...NETWORK_VARIABLES].flatMap(
    (name): [string, string][] => {
      const value = env[name];
      // Bash exports shell functions in this form; they are code.
      return value === undefined || value.startsWith("()")
        ? []
        : [[name, value]];
    },
  );
  // The address of a proxy may hold a password.
  const isSecret = ([name, value]: [string, string]) =>
    NETWORK_VARIABLES.includes(name) && value.includes("@");
  return {
    open: {
      ...Object.fromEntries(picked.filter((one) => !isSecret(one))),
      [ENV_FILE_VARIABLE]: envFile,
    },
    secret: Object.fromEntries(picked.filter(isSecret)),
  };
}

const codeOf = (error: unknown): unknown => Object(error).code;

/** Reads a file; `undefined` if there is none. */
function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Reads a file that `install` makes; `undefined` if there is none.
 *
 * @throws {Error} when somebody else made it
 */
export function readOwn(file: string, name: ServiceName): string | undefined {
  const text = readIfThere(file);
  if (text === undefined || text.slice(0, 300).includes(madeBy(name))) {
    return text;
  }
  throw new Error(
    `${file} is not made by "${name} service install", and is left alone; move it away first`,
  );
}

/** Writes a file in one step, so that nobody meets half of it. */
export function writeWhole(file: string, text: string, mode: number): void {
  // Only this user can look into the directories that are made for it.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}.new`;
  try {
    writeFileSync(next, text, { mode, flag: "wx" });
    chmodSync(next, mode); // whatever the process's mask is
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

/** Deletes a directory if it is empty. */
export function deleteEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(String(codeOf(error)))) {
      throw error;
    }
  }
}

/** The variables of a service, before they are written. */
export interface ChangedVariables {
  /** All of them. */
  readonly all: Variables;
  /** One line for each that is new, changed or kept, without values. */
  readonly changes: readonly string[];
  /** Whether the service has to be started again for them. */
  readonly isChanged: boolean;
  /** Writes them. */
  save(): void;
}

/**
 * Adds variables to those that a service has, in a file for its user alone.
 *
 * @param given new variables, stronger than the old ones
 * @param dropped names of variables that are given in another way now
 * @throws {Error} when somebody else made the file, or it cannot be read
 */
export function changeVariables(
  file: string,
  name: ServiceName,
  given: Variables,
  dropped: readonly string[],
): ChangedVariables {
  const text = readOwn(file, name);
  const old = text === undefined ? {} : parseEnvFile(text, file);
  const kept = Object.entries(old).filter(([one]) => !dropped.includes(one));
  const all: Variables = { ...Object.fromEntries(kept), ...given };
  const next = formatEnvFile([
    `${madeBy(name)}: credentials, as NAME=VALUE. Only you may read this file.`,
    "What you change here counts from the next start of the service on.",
  ], all);
  const wasExposed = text !== undefined && isExposed(file);
  const names = Object.keys({ ...old, ...all });
  const changed = names.filter((one) => old[one] !== all[one]);
  return {
    all,
    changes: [
      ...(wasExposed ? ["others could read it; now only you can"] : []),
      ...changed.map((one) => `${one} ${howChanged(old[one], all[one])}`),
      ...names.filter((one) =>
        !changed.includes(one) && !Object.hasOwn(given, one)
      )
        .map((one) => `${one} kept`),
    ],
    isChanged: wasExposed || changed.length > 0,
    save() {
      if (text !== next || wasExposed) writeWhole(file, next, PRIVATE_MODE);
    },
  };
}

const howChanged = (
  old: string | undefined,
  value: string | undefined,
): string =>
  old === undefined ? "added" : value === undefined ? "removed" : "changed";
