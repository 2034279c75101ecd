import process from "node:process";
import type { Command } from "commander";
import type { Variables } from "../env_file.ts";
import { plain } from "../terminal_text.ts";
import {
  type ChangedVariables,
  changeVariables,
  readOwn,
  writeWhole,
} from "./files.ts";
import { type GivenOptions, replacedBy, withVariables } from "./given.ts";
import type { RunProgram } from "./host.ts";
import { launchOf } from "./launch.ts";
import { checkPlace, type Keeping, keepingOf, type Place } from "./manager.ts";
import { pickVariables, type RoleCheck, type ServiceRole } from "./role.ts";

/** What is to be installed. */
export interface InstallRequest<Flags extends object> {
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
