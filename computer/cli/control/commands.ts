/**
 * The commands for a Computer that runs already, and those of its devices, with their flags.
 *
 * @module
 */
import process from "node:process";
import type { Command } from "commander";
import { readName } from "../../../cli/flags.ts";
import { routeOptions } from "../../../cli/server_flags.ts";
import { statePath } from "../../util/defaults.ts";
import { addOptions, officeFlag, option } from "../flags.ts";

/** Adds a subcommand with its help. */
export type AddSubcommand = (
  parent: Command,
  name: string,
  summary: string,
  ...examples: readonly string[]
) => Command;

/** Adds `pair`, `devices`, `rules` and `approve`. */
export function addApprovals(program: Command, add: AddSubcommand): void {
  addOptions(
    add(
      program,
      "pair",
      "Let a phone or another machine answer for a Computer that runs here",
      "pair",
      "pair --page https://approve.example.com/",
    ),
    option(
      "--page <url>",
      "the page that answers, such as a copy of `approve-page` on a host that you choose; by default /approve of the Server, which can then answer in your name",
    ),
    ...choiceFlags(),
  ).action(async (flags) => (await import("./pair.ts")).pair(flags));

  const devices = add(
    program,
    "devices",
    "List the devices that may answer for a Computer that runs here",
    "devices",
    "devices remove Pixel",
  );
  addOptions(devices, ...choiceFlags(), option("--json", "print JSON"))
    .action(async (flags) => (await import("./lists.ts")).devices(flags));
  addOptions(
    add(
      devices,
      "remove",
      "Remove a device: from now on it cannot answer",
      "devices remove Pixel",
    ).argument("<device>", "its label, or the beginning of its id"),
  ).action(async (device, _, command) =>
    (await import("./lists.ts")).removeDevice(device, command.optsWithGlobals())
  );

  const rules = add(
    program,
    "rules",
    "List the rules of a Computer that runs here, and what was allowed beyond them",
    "rules",
    "rules remove 4f1a",
  );
  addOptions(rules, ...choiceFlags(), option("--json", "print JSON"))
    .action(async (flags) => (await import("./lists.ts")).rules(flags));
  addOptions(
    add(
      rules,
      "remove",
      "Remove a permission: what it allowed is asked again",
      "rules remove 4f1a",
    ).argument("<permission>", "its id, as `rules` lists it"),
  ).action(async (permission, _, command) =>
    (await import("./lists.ts"))
      .removePermission(permission, command.optsWithGlobals())
  );

  addApprove(program, add);
}

function addApprove(program: Command, add: AddSubcommand): void {
  const command = add(
    program,
    "approve",
    "Answer questions of Computers elsewhere, at this terminal",
    "approve 'https://smcp.example.com/approve#1.…'   # the link of `pair`",
    "approve",
    "approve --forget laptop",
  ).argument("[link]", "of `smcp-computer pair`, to answer for one more");
  addOptions(
    command,
    option(
      "--approve-keys <file>",
      "the file of its keys, with which anybody can answer",
    ).default(statePath(process.env, "approve.json")),
    option("--forget <name>", "forget a Computer, and the keys for it"),
    ...routeOptions(),
  ).action(async (link, flags) =>
    (await import("../approve/approve.ts")).approve(link, flags)
  );
  const page = add(
    program,
    "approve-page",
    "Write the page for answers from a phone, to serve it from a host of your own",
    "approve-page site --url https://smcp.example.com",
  ).argument("<folder>", "a new or empty folder");
  addOptions(
    page,
    option("--url <url>", "the one Server that the page reaches")
      .env("SMCP_URL").makeOptionMandatory(),
  ).action(async (folder, flags) =>
    (await import("../approve/write_page.ts")).writeApprovePage(folder, flags)
  );
}

/** Creates the flags that choose one of the Computers that run. */
const choiceFlags = () => [
  option("--name <name>", "the Computer's name, where several run")
    .argParser(readName("--name", "SMCP_NAME")),
  officeFlag(false),
];
