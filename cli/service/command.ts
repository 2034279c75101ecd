/**
 * The subcommand `service`: the state of a service, its removal, and, in `install.ts`, its installation.
 *
 * @module
 */
import { dirname } from "node:path";
import { existsSync, rmdirSync, rmSync } from "node:fs";
import { type Command, Option } from "commander";
import { print } from "../print.ts";
import { isExposed } from "../env_file.ts";
import { addHelp } from "../flags.ts";
import { UsageError } from "../run.ts";
import { readOwn } from "./files.ts";
import { install, recordGiven, type ServiceRole } from "./install.ts";
import type { ServiceName } from "./manager.ts";
import { plain } from "../terminal_text.ts";
import { userService } from "./user_service.ts";

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
    "Keep it running, as a user service of systemd or launchd",
    [
      `${name} service install ${role.example}`,
      `${name} service status`,
      `${name} service remove`,
    ],
  );
  const installs = addHelp(
    service.command("install"),
    "Start it now and at each login, with these options; again to change them",
    [
      `${name} service install ${role.example}`,
      `${name} service install --print ${role.example}`,
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
    await explained(() => install(role, installs, read(), flags));
  });
  addHelp(
    service.command("status"),
    "Show whether it runs, since when, and the last lines of its log",
    [`${name} service status`],
  ).action(() => explained(() => status(name)));
  addHelp(
    service.command("remove"),
    "Stop it, and delete the files of install",
    [`${name} service remove`],
  ).action(() => explained(() => remove(name)));
}

/** @throws {UsageError} for options before `service`, which would be ignored */
function checkNoneBefore(program: Command): void {
  const early = program.options.find((option) =>
    program.getOptionValueSource(option.attributeName()) === "cli"
  );
  if (early === undefined) return;
  throw new UsageError(
    `${early.long} has no effect before "service"; write it after "install"`,
  );
}

/** @throws {Error} with a remedy where Deno forbids the work */
async function explained(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "NotCapable") throw error;
    const [reason] = error.message.split(",");
    throw new Error(
      `Deno does not permit that (${reason}); start it with "deno run -A", use the command smcp, or write the files that "--print" shows`,
    );
  }
}

/**
 * Prints the state of a service, and the last lines of its log.
 *
 * @throws {Error} when it does not run
 */
async function status(name: ServiceName): Promise<void> {
  const service = userService(name);
  const { file, envFile, log } = service;
  if (readOwn(file, name) === undefined) {
    throw new Error(
      `${name} is not installed as a service (there is no ${file}); see "${name} service install --help"`,
    );
  }
  await service.check();
  const { state, since, detail } = await service.state();
  const lines = await service.lines();
  const dated = since === undefined ? "" : ` since ${since}`;
  const detailed = detail === undefined ? "" : ` (${plain(detail)})`;
  print(
    [
      `${name}: ${state}${dated}${detailed}`,
      `  definition: ${file}`,
      `  credentials: ${envFile}${aboutFile(envFile)}`,
      `  log: ${log}`,
      ...(lines.length > 0 ? ["last lines of the log:"] : []),
      ...lines.map((line) => `  ${plain(line)}`),
    ].join("\n"),
  );
  if (state === "failed") {
    throw new Error(`${name} does not run; see its log`);
  }
  if (state === "stopped") {
    throw new Error(`${name} does not run; install it again to start it`);
  }
}

const aboutFile = (file: string): string =>
  !existsSync(file)
    ? " (missing: install it again)"
    : isExposed(file)
    ? " (others can use it, so the service does not start; install it again)"
    : "";

/** Stops a service, and deletes what `install` wrote; its log stays. */
async function remove(name: ServiceName): Promise<void> {
  const service = userService(name);
  const { file, envFile } = service;
  const isDefined = readOwn(file, name) !== undefined;
  const hasVariables = readOwn(envFile, name) !== undefined;
  if (!isDefined && !hasVariables) {
    print(`${name} is not installed as a service: nothing to remove`);
  }
  if (isDefined) {
    await service.check();
    await service.remove();
    print(`stopped ${name}; deleted ${file}`);
  }
  if (hasVariables) {
    rmSync(envFile);
    deleteEmpty(dirname(envFile));
    print(`deleted ${envFile}`);
  }
}

/** Deletes a directory, unless it holds something or another command has deleted it. */
function deleteEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    const { code } = Object(error);
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(code)) throw error;
  }
}
