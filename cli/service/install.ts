import process from "node:process";
import type { Command } from "commander";
import { changeVariables, readOwn, writeWhole } from "./files.ts";
import { type GivenOptions, withVariables } from "./given.ts";
import type { RunProgram } from "./host.ts";
import { launchOf } from "./launch.ts";
import { checkPlace, keepingOf, type Place } from "./manager.ts";
import { pickVariables, type ServiceRole } from "./role.ts";
import type { Service } from "./service.ts";

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

/** Definitions are no secret. */
const OPEN_MODE = 0o644;

/**
 * Installs a command as a service, or changes that service, and starts it.
 *
 * @throws {Error} that says what to do; nothing is written then, unless the service does not start
 */
export async function install<Flags extends object>(
  { role, given, flags, command, isShown }: InstallRequest<Flags>,
  place: Place,
  run: RunProgram,
): Promise<void> {
  const { name } = role;
  const keeping = keepingOf(name, place, run);
  const { manager, envFile } = keeping;
  if (!isShown) await checkPlace(name, place, keeping);
  const before = readOwn(manager.file, name);
  const kept = changeVariables(envFile, name, given.secrets, []).variables;
  // What is given as an option now does not come from the file any more.
  const replaced = command.options.flatMap(({ long, envVar }) =>
    envVar !== undefined && kept[envVar] !== undefined &&
      given.secrets[envVar] === undefined &&
      given.args.some((text) => text === long || text.startsWith(`${long}=`))
      ? [envVar]
      : []
  );
  const inFile = Object.fromEntries(
    Object.entries(kept).filter(([variable]) => !replaced.includes(variable)),
  );
  const checked = await role.check(
    withVariables(flags, command, inFile),
    { ...inFile, ...place.env },
  );
  const { open, secret } = pickVariables(place.env, envFile, checked.variables);
  const service: Service = {
    name,
    summary: role.summary,
    command: [
      ...launchOf(
        name,
        { program: process.execPath, argv: process.argv },
        role.permissions(flags),
      ),
      ...role.words,
      ...given.args,
    ],
    directory: process.cwd(),
    environment: open,
  };
  const definition = manager.define(service);
  const saved = changeVariables(
    envFile,
    name,
    { ...secret, ...given.secrets },
    replaced,
  );
  if (isShown) {
    console.error(`would write ${envFile}, for your eyes only:`);
    const names = Object.keys(saved.variables);
    for (const variable of names) console.error(`  ${variable}=(not shown)`);
    if (names.length === 0) console.error("  (no credentials)");
    console.error(`would write ${manager.file}:`);
    console.log(definition.trimEnd());
    return;
  }
  saved.save();
  report(`credentials: ${envFile}, for your eyes only`, saved.changes);
  const isChanged = before !== definition;
  if (isChanged) writeWhole(manager.file, definition, OPEN_MODE);
  report(
    `${
      before === undefined ? "written" : isChanged ? "changed" : "unchanged"
    }: ${manager.file}`,
    before === undefined ? [] : difference(before, definition),
  );
  const isNew = isChanged ||
    saved.changes.some((change) => !change.endsWith(" kept"));
  if (!isNew && (await manager.state()).state === "running") {
    console.log(`${name} runs as before`);
  } else {
    await manager.start();
    console.log(
      `started ${name}, now and at each login; "${name} service status" tells how it is`,
    );
  }
  for (const note of [...checked.notes, ...manager.notes]) {
    console.log(`note: ${note}`);
  }
}

function report(title: string, lines: readonly string[]): void {
  console.log(title);
  for (const line of lines) console.log(`  ${line}`);
}

/** Lists the lines that only one of two definitions has. */
function difference(before: string, after: string): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}
