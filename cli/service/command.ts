import { Option } from "commander";
import type { Command } from "commander";
import process from "node:process";
import { addHelp } from "../add_help.ts";
import { UsageError } from "../run.ts";
import { recordGiven } from "./given.ts";
import type { Place } from "./manager.ts";
import type { ServiceRole } from "./role.ts";

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
    const { remove } = await import("./remove.ts");
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
  use: (run: typeof import("./host.ts").runProgram) => Promise<void>,
): Promise<void> {
  const { runProgram } = await import("./host.ts");
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
