/**
 * Installing a command as a service of this user: the options that were given are recorded, credentials
 * among them go into a file of their own, and the definition starts the same code again.
 *
 * @module
 */
import process from "node:process";
import type { Command, Option } from "commander";
import { print, printContent, printError } from "../print.ts";
import { hasPassword } from "../cluster_flags.ts";
import type { Variables } from "../env_file.ts";
import { denoModule, originOf, runtimeOf } from "../own_command.ts";
import { isSwitch } from "../run.ts";
import {
  changeVariables,
  pickVariables,
  readOwn,
  writeWhole,
} from "./files.ts";
import type { ServiceName } from "./manager.ts";
import { type UserService, userService } from "./user_service.ts";
import { plain } from "../terminal_text.ts";

/** Definitions are no secret. */
const OPEN_MODE = 0o644;

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
   * @returns variables that the service needs of this environment, and that may be credentials; and
   * notes for a person
   * @throws {Error} for what the service would fail with
   */
  check(
    flags: Flags,
    env: Readonly<Record<string, string | undefined>>,
    kept: Variables,
  ): Promise<{ variables: Variables; notes: readonly string[] }>;
}

/**
 * Installs a command as a service, or changes that service, and starts it.
 *
 * @param command the command `install`
 * @param given its options, as they were given
 * @param flags their values
 * @throws {Error} with the remedy; nothing is written then, unless the service does not start
 */
export async function install<Flags extends object>(
  role: ServiceRole<Flags>,
  command: Command,
  given: GivenOptions,
  flags: Flags & { print?: boolean },
): Promise<void> {
  const { name } = role;
  const service = userService(name);
  if (!flags.print) await service.check();
  const before = readOwn(service.file, name);
  const dropped = replacedBy(command, given);
  const change = (added: Variables) =>
    changeVariables(
      service.envFile,
      name,
      { ...added, ...given.secrets },
      dropped,
    );
  // Checked with the credentials that the service will have.
  const kept = change({}).all;
  const { variables, notes } = await role.check(
    withVariables(flags, command, kept),
    process.env,
    kept,
  );
  const { open, secret } = pickVariables(process.env, service.envFile);
  const definition = service.define({
    name,
    summary: role.summary,
    command: [
      ...launchOf(name, process, role.permissions(flags)),
      ...role.words,
      ...given.args,
    ],
    directory: process.cwd(),
    environment: open,
  });
  const changed = change({ ...secret, ...variables });
  if (flags.print) return show(service, definition, Object.keys(changed.all));
  await changed.save();
  report(
    `credentials: ${service.envFile}, readable only by you`,
    changed.changes,
  );
  const isNew = await write(service.file, before, definition) ||
    changed.isChanged;
  if (!isNew && (await service.state()).state === "running") {
    print(`${name} is unchanged and runs`);
  } else {
    await service.start();
    print(
      `started ${name}, now and at each login; "${name} service status" shows its state`,
    );
  }
  for (const note of [...notes, ...service.notes]) print(`note: ${note}`);
}

/** Prints the definition, and about it where it does not disturb who keeps the definition. */
function show(
  { file, envFile }: UserService,
  definition: string,
  variables: readonly string[],
): void {
  const shown = variables.map((variable) => `  ${variable}=(not shown)`);
  printError(
    [
      `would write ${envFile}, readable only by you:`,
      ...(shown.length > 0 ? shown : ["  (no credentials)"]),
      `would write ${file}:`,
    ].join("\n"),
  );
  printContent(definition.trimEnd());
}

/** Writes a definition, and prints what is new in it; returns whether anything is. */
async function write(
  file: string,
  before: string | undefined,
  definition: string,
): Promise<boolean> {
  const isNew = before !== definition;
  if (isNew) await writeWhole(file, definition, OPEN_MODE);
  if (before === undefined) report(`written: ${file}`, []);
  else if (isNew) report(`changed: ${file}`, difference(before, definition));
  else report(`unchanged: ${file}`, []);
  return isNew;
}

function report(title: string, lines: readonly string[]): void {
  print(title);
  for (const line of lines) print(`  ${plain(line)}`);
}

/** Lists the lines that only one of two definitions has. */
function difference(before: string, after: string): string[] {
  const old = before.split("\n");
  const now = after.split("\n");
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** The options of a command that were given, on the command line or in the environment. */
export interface GivenOptions {
  /** Arguments that give them again; none is a credential. */
  readonly args: readonly string[];
  /** Credentials among them, as variables. */
  readonly secrets: Variables;
}

/** Returns a variable with the value of an option which is a credential. */
export type FindSecret = (
  flag: string,
  text: string,
) => readonly [variable: string, value: string] | undefined;

/**
 * Records the options of a command that are given; call it after all of them are added.
 *
 * @param except options that are left out
 * @param findSecret finds credentials; a URL with a password is one in any case
 * @returns reads the record, once the command is parsed
 */
export function recordGiven(
  command: Command,
  except: readonly string[],
  findSecret: FindSecret,
): () => GivenOptions {
  const given: { option: Option; text?: string | null; isEnv: boolean }[] = [];
  for (const option of command.options) {
    if (except.includes(option.long ?? "")) continue;
    for (const isEnv of [false, true]) {
      const event = `${isEnv ? "optionEnv" : "option"}:${option.name()}`;
      command.on(event, (text) => given.push({ option, text, isEnv }));
    }
  }
  return () => {
    const args: string[] = [];
    const secrets: Record<string, string> = {};
    for (const { option, text, isEnv } of given) {
      const key = option.attributeName();
      // The command line is stronger, and switches can be off.
      const counts = !isEnv || command.getOptionValueSource(key) === "env" &&
          (!isSwitch(option) || command.getOptionValue(key) === !option.negate);
      if (!counts) continue;
      const flag = option.long ?? option.flags;
      // A switch has no text.
      if (typeof text !== "string") {
        args.push(flag);
        continue;
      }
      const { envVar } = option;
      const found = findSecret(flag, text) ??
        (envVar && hasPassword(text) ? [envVar, text] : undefined);
      if (found) secrets[found[0]] = found[1];
      else args.push(`${flag}=${text}`);
    }
    return { args, secrets };
  };
}

/** Lists the variables that an argument replaces; those of credentials among the options stay. */
const replacedBy = (
  { options }: Command,
  { args, secrets }: GivenOptions,
): string[] =>
  options.flatMap(({ long, envVar }) =>
    envVar !== undefined && secrets[envVar] === undefined &&
      args.some((text) => text === long || text.startsWith(`${long}=`))
      ? [envVar]
      : []
  );

/** Adds options that the variables of a service give, where this command line does not. */
export function withVariables<T extends object>(
  flags: T,
  command: Command,
  variables: Variables,
): T {
  const added: Record<string, unknown> = {};
  for (const option of command.options) {
    const { envVar = "", parseArg } = option;
    const key = option.attributeName();
    const text = variables[envVar];
    const source = command.getOptionValueSource(key);
    if (text === undefined || isSwitch(option)) continue;
    if (source !== undefined && source !== "default") continue;
    added[key] = parseArg ? parseArg(text, undefined) : text;
  }
  return { ...flags, ...added };
}

/** How this process was started: `process`, and the URL of `cli/own_command` by default. */
interface Start extends Pick<typeof process, "execPath" | "argv"> {
  readonly module?: string;
}

/** Where Deno keeps packages of npm that belong to no folder. */
const DENO_NPM = /\/npm\/[^/]+\/(@[^/]+\/[^/]+)\/([^/]+)\//;
/** Where npx and bunx keep packages for a while. */
const FETCHED = /[\\/](_npx|bunx-\d+-[^\\/]*)[\\/]/;

/**
 * Returns the program and the arguments that start a command of the package again, from this very
 * code and runtime.
 *
 * Each kind of start is recognized by the program, the URL of its code, and the first words
 * of the command line: `smcp` passes on what follows the name of a role.
 *
 * @param permissions the flags of Deno for the command
 * @throws {Error} when the code does not stay where it is
 */
export function launchOf(
  name: ServiceName,
  { execPath: program, argv: [, script = "", first], module }: Start,
  permissions: readonly string[],
): string[] {
  const role = name.replace("smcp-", "");
  const viaSmcp = first === role ? [role] : [];
  const runtime = runtimeOf(program);
  if (runtime === undefined) return [program, ...viaSmcp]; // compiled
  if (FETCHED.test(script)) {
    const [runner, install] = runtime === "bun"
      ? ["bunx", "bun add"]
      : ["npx", "npm install"];
    throw new Error(
      `Cannot start ${script} as a service: it is in the cache of ${runner}, which may be deleted; install the commands with "${install} --global @a2c-smcp/cli", and call ${name} without ${runner}`,
    );
  }
  if (runtime !== "deno") return [program, script, ...viaSmcp];
  const origin = originOf(module);
  const deno = [program, "run", ...permissions];
  if (origin === undefined) return [...deno, script, ...viaSmcp]; // bundled
  const [, scope, version] = DENO_NPM.exec(origin.root) ?? [];
  return [
    ...deno,
    scope === undefined
      ? denoModule(name, origin)
      : `npm:${scope}@${version}/${name}`,
  ];
}
