import { type Command, InvalidArgumentError, Option } from "commander";
import { homedir, hostname } from "node:os";
import process from "node:process";
import { integer, readName } from "../../cli/flags.ts";
import { addServerFlags } from "../../cli/server_flags.ts";
import {
  DEFAULT_BLOB_STORE_BYTES,
  DEFAULT_UPLOAD_BYTES,
  defaultOAuthDirectory,
} from "../util/defaults.ts";
import { reasonOf } from "../util/values.ts";
import { parseInputFlag } from "../util/inputs.ts";
import {
  checkMessageBytes,
  DEFAULT_MESSAGE_BYTES,
} from "../host/mcp/errors.ts";
import { isAbsolute, join, resolve } from "node:path";

/** Creates an option whose variable of the environment is `SMCP_` and its name. */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  const name = `${made.long}`.slice(2).toUpperCase().replaceAll("-", "_");
  return made.env(`SMCP_${name}`);
}

/** Adds options to a command, in the order of its help. */
export function addOptions(command: Command, ...options: Option[]): Command {
  for (const each of options) command.addOption(each);
  return command;
}

/**
 * Adds the options that configure hosted MCP servers.
 *
 * @param required whether `--config` is mandatory
 */
export const addHostFlags = (command: Command, required = true): Command =>
  addOptions(
    command,
    option("--config <file>", "the MCP servers to host")
      .makeOptionMandatory(required),
    option(
      "--oauth-dir <dir>",
      "the directory that keeps authorizations for MCP servers",
    ).default(defaultOAuthDirectory(process.env)),
    option(
      "--skills <dir>",
      "the folder of skills: those in its part user are offered, those of MCP servers are kept in its part mcp",
    ).default(defaultSkillHome(process.env)),
    option("--no-skills", "offer no skills"),
    new Option(
      "--input <id=value>",
      "the value of an input; repeatable; visible to everybody who lists processes, unlike the environment variable SMCP_INPUT_<ID>",
    ).argParser(collectInput).default({}, "none"),
    option(
      "--max-message <bytes>",
      "the largest message that an MCP server may send; one that writes a longer line is restarted",
    ).argParser(messageBytes).default(DEFAULT_MESSAGE_BYTES),
  );

/** Adds the options of a Computer that joins an office. */
export const addServingFlags = (command: Command, required = true): Command =>
  addOptions(
    addHostFlags(command, required),
    option("--name <name>", "the name to join with; unique in the office")
      .argParser(readName("--name", "SMCP_NAME"))
      .default(hostname(), "this machine's name"),
    option(
      "--dpe-dir <dir>",
      "publish documents as files in this directory, for agents on the same disk",
    ),
    option(
      "--landing-root <dir>",
      "take files that agents send, and put them into this directory, for the tools here",
    ),
    option("--max-upload <bytes>", "the largest file that is taken")
      .argParser(bytes).default(DEFAULT_UPLOAD_BYTES),
    option(
      "--blob-store <bytes>",
      "how much of large images and files of results is kept for agents to fetch",
    ).argParser(bytes).default(DEFAULT_BLOB_STORE_BYTES),
    option(
      "--refuse-operators",
      "answer no questions of the Server's operators: only agents use the tools",
    ),
    option("--yes", "run every tool without confirmation"),
  );

/** Adds the options of `run`. */
export const addRunFlags = (command: Command): Command =>
  addOptions(
    addViewFlags(addServingFlags(addServerFlags(command))),
    option(
      "--wait",
      "wait for a Server that cannot be reached yet, instead of ending",
    ).default(false),
  );

/** Adds the options about watching the configuration, and showing what happens. */
export const addViewFlags = (command: Command): Command =>
  addOptions(
    command,
    option("--watch", "reload the configuration when its file changes"),
    option("--plain", "print lines instead of a live view, on a terminal too"),
    option(
      "--ui",
      "serve a page on 127.0.0.1 that shows the Computer and answers its questions, and print its link",
    ),
    option(
      "--ui-port <number>",
      "the port of the page, by default any free one; implies --ui",
    ).argParser(integer(0, 65535)),
  );

/** Adds `--office`. */
export const addOffice = (command: Command, required = true): Command =>
  command.addOption(
    option("--office <office>", "the office to join")
      .argParser(readName("--office", "SMCP_OFFICE"))
      .makeOptionMandatory(required),
  );

function bytes(text: string): number {
  try {
    return integer(1, Number.MAX_SAFE_INTEGER)(text);
  } catch {
    throw new InvalidArgumentError(
      "Expected a number of bytes, such as 10000000 for 10 MB.",
    );
  }
}

function collectInput(
  text: string,
  before: Record<string, string>,
): Record<string, string> {
  try {
    const [id, value] = parseInputFlag(text);
    return { ...before, [id]: value };
  } catch (error) {
    throw new InvalidArgumentError(reasonOf(error));
  }
}

function messageBytes(text: string): number {
  try {
    return checkMessageBytes(/^\d+$/.test(text) ? Number(text) : NaN);
  } catch {
    throw new InvalidArgumentError(
      `Expected a number of bytes, such as ${DEFAULT_MESSAGE_BYTES}.`,
    );
  }
}

/** Returns the folder of skills where none is named: that of other A2C-SMCP Computers of this user. */
export function defaultSkillHome(
  env: Readonly<Record<string, string | undefined>>,
): string {
  const chosen = env.A2C_SKILL_HOME?.trim();
  if (chosen) return resolve(chosen.replace(/^~(?=$|[/\\])/, homedir()));
  const data = env.XDG_DATA_HOME;
  return data && isAbsolute(data)
    ? join(data, "a2c", "skills")
    : join(homedir(), ".a2c", "skills");
}

/** Returns the path of the history file, by the XDG convention. */
export const defaultHistoryFile = (
  env: Readonly<Record<string, string | undefined>>,
): string =>
  join(
    env.XDG_STATE_HOME || join(homedir(), ".local", "state"),
    "a2c-smcp",
    "shell_history",
  );
