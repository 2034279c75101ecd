/**
 * Installing a command as a service of this user: the options that were given are recorded, credentials
 * among them go into a file of their own, and the definition starts the same code again.
 *
 * @module
 */
import process from "node:process";
import type { Command, Option } from "commander";
import { hasPassword } from "../cluster_flags.ts";
import type { Variables } from "../env_file.ts";
import {
  type CommandName,
  denoModule,
  originOf,
  runtimeOf,
} from "../own_command.ts";
import { isSwitch } from "../run.ts";
import {
  type ChangedVariables,
  changeVariables,
  pickVariables,
  readOwn,
  type RoleCheck,
  type ServiceRole,
  writeWhole,
} from "./command.ts";
import {
  checkPlace,
  type Keeping,
  keepingOf,
  type Place,
  type RunProgram,
  type ServiceName,
} from "./manager.ts";
import { plain } from "../terminal_text.ts";

/** What is to be installed. */
interface InstallRequest<Flags extends object> {
  /** The command. */
  readonly role: ServiceRole<Flags>;
  /** Its options, as they were given. */
  readonly given: GivenOptions;
  /** Their values. */
  readonly flags: Flags;
  /** The command `install`. */
  readonly command: Command;
  /** Only show what would be written. */
  readonly isShown: boolean;
}

/** The files of a service, before they are written. */
interface Draft {
  /** Its definition. */
  readonly definition: string;
  /** The definition that there is. */
  readonly before: string | undefined;
  /** Its credentials. */
  readonly variables: ChangedVariables;
  /** What a person should know. */
  readonly notes: RoleCheck["notes"];
}

/** Definitions are no secret. */
const OPEN_MODE = 0o644;

/**
 * Installs a command as a service, or changes that service, and starts it.
 *
 * @throws {Error} that says what to do; nothing is written then, unless the service does not start
 */
export async function install<Flags extends object>(
  request: InstallRequest<Flags>,
  place: Place,
  run: RunProgram,
): Promise<void> {
  const { name } = request.role;
  const keeping = keepingOf(name, place, run);
  if (!request.isShown) await checkPlace(name, place, keeping);
  const draft = await draftOf(request, place.env, keeping);
  if (request.isShown) return show(draft, keeping);
  const isChanged = write(draft, keeping);
  const { manager } = keeping;
  if (!isChanged && (await manager.state()).state === "running") {
    console.log(`${name} runs as before`);
  } else {
    await manager.start();
    console.log(
      `started ${name}, now and at each login; "${name} service status" tells how it is`,
    );
  }
  for (const note of [...draft.notes, ...manager.notes]) {
    console.log(`note: ${note}`);
  }
}

/** Makes the files of a service; checks its options with the credentials that it will have. */
async function draftOf<Flags extends object>(
  { role, given, flags, command }: InstallRequest<Flags>,
  env: Place["env"],
  { manager, envFile }: Keeping,
): Promise<Draft> {
  const { name, summary, words } = role;
  const before = readOwn(manager.file, name);
  const dropped = replacedBy(command, given);
  const change = (added: Variables) =>
    changeVariables(envFile, name, { ...added, ...given.secrets }, dropped);
  const kept = change({}).all;
  const { variables, notes } = await role.check(
    withVariables(flags, command, kept),
    env,
    kept,
  );
  const { open, secret } = pickVariables(env, envFile);
  const start = { program: process.execPath, argv: process.argv };
  const definition = manager.define({
    name,
    summary,
    command: [
      ...launchOf(name, start, role.permissions(flags)),
      ...words,
      ...given.args,
    ],
    directory: process.cwd(),
    environment: open,
  });
  return {
    definition,
    before,
    variables: change({ ...secret, ...variables }),
    notes,
  };
}

/** Prints the definition, and about it where it does not disturb who keeps the definition. */
function show(
  { definition, variables }: Draft,
  { manager, envFile }: Keeping,
): void {
  const names = Object.keys(variables.all);
  console.error(
    [
      `would write ${envFile}, for your eyes only:`,
      ...names.map((variable) => `  ${variable}=(not shown)`),
      ...(names.length === 0 ? ["  (no credentials)"] : []),
      `would write ${manager.file}:`,
    ].join("\n"),
  );
  console.log(definition.trimEnd());
}

/** Writes the files, and says what is new in them; returns whether anything is. */
function write(
  { definition, before, variables }: Draft,
  { manager, envFile }: Keeping,
): boolean {
  variables.save();
  report(`credentials: ${envFile}, for your eyes only`, variables.changes);
  if (before === definition) {
    report(`unchanged: ${manager.file}`, []);
    return variables.isChanged;
  }
  writeWhole(manager.file, definition, OPEN_MODE);
  if (before === undefined) report(`written: ${manager.file}`, []);
  else report(`changed: ${manager.file}`, difference(before, definition));
  return true;
}

function report(title: string, lines: readonly string[]): void {
  console.log(title);
  for (const line of lines) console.log(`  ${plain(line)}`);
}

/** Lists the lines that only one of two definitions has. */
function difference(before: string, after: string): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

/** An option that somebody gave, as it was written. */
interface Given {
  readonly option: Option;
  /** Its value; absent for a switch. */
  readonly text?: string;
  readonly isEnv: boolean;
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
  const given: Given[] = [];
  for (const option of command.options) {
    if (except.includes(option.long ?? "")) continue;
    for (const isEnv of [false, true]) {
      const event = `${isEnv ? "optionEnv" : "option"}:${option.name()}`;
      command.on(event, (text?: string | null) => {
        given.push({
          option,
          ...(typeof text === "string" && { text }),
          isEnv,
        });
      });
    }
  }
  return () => {
    const args: string[] = [];
    const secrets: Record<string, string> = {};
    for (
      const { option, text } of given.filter((one) => counts(command, one))
    ) {
      const flag = option.long ?? option.flags;
      const [variable, value] = text === undefined
        ? []
        : findSecret(flag, text) ?? passwordIn(option, text);
      if (variable !== undefined && value !== undefined) {
        secrets[variable] = value;
      } else args.push(text === undefined ? flag : `${flag}=${text}`);
    }
    return { args, secrets };
  };
}

/** Checks whether a variable is used: the command line is stronger, and switches can be off. */
function counts(command: Command, { option, isEnv }: Given): boolean {
  const key = option.attributeName();
  if (!isEnv) return true;
  return command.getOptionValueSource(key) === "env" &&
    (!isSwitch(option) || command.getOptionValue(key) === !option.negate);
}

const passwordIn = (
  { envVar }: Option,
  text: string,
): readonly [string, string] | [] =>
  envVar !== undefined && hasPassword(text) ? [envVar, text] : [];

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

/** How this process was started. */
export interface Start {
  /** The value of `process.execPath`. */
  readonly program: string;
  /** The value of `process.argv`. */
  readonly argv: readonly string[];
  /** The URL of `cli/own_command`; default: its own. */
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
 * Every way to start the package is known by the program, the URL of its code, and the first words
 * of the command line: `smcp` passes on what follows the name of a role.
 *
 * @param permissions the flags of Deno for the command
 * @throws {Error} when the code does not stay where it is
 */
export function launchOf(
  name: ServiceName,
  { program, argv: [, script = "", first], module }: Start,
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
      `Cannot start ${script} as a service: it is in the cache of ${runner}, which does not last; install the commands with "${install} --global @a2c-smcp/cli", and call ${name} without ${runner}`,
    );
  }
  if (runtime !== "deno") return [program, script, ...viaSmcp];
  const origin = originOf(module);
  const deno = [program, "run", ...permissions];
  if (origin === undefined) return [...deno, script, ...viaSmcp]; // bundled
  return [...deno, npmModule(name, origin.root) ?? denoModule(name, origin)];
}

/** Returns the name of a command in a package of npm that Deno keeps. */
function npmModule(name: CommandName, root: string): string | undefined {
  const [, scope, version] = DENO_NPM.exec(root) ?? [];
  return scope === undefined ? undefined : `npm:${scope}@${version}/${name}`;
}
