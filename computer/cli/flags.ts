import { type Command, InvalidArgumentError, Option } from "commander";
import { hostname } from "node:os";
import process from "node:process";
import { readName } from "../../cli/names.ts";
import { addServerFlags } from "../../cli/server_flags.ts";
import { reasonOf } from "../util/values.ts";
import { defaultOAuthDirectory } from "../host/oauth/default_directory.ts";
import { parseInputFlag } from "../util/input_names.ts";
import {
  checkMessageBytes,
  DEFAULT_MESSAGE_BYTES,
} from "../host/mcp/message_limit.ts";

/**
 * Adds the options about the MCP servers of a configuration file.
 *
 * @param needed whether there must be one
 */
export const addHostFlags = (command: Command, needed = true): Command =>
  command
    .addOption(
      new Option("--config <file>", "the MCP servers to host")
        .env("SMCP_CONFIG").makeOptionMandatory(needed),
    )
    .addOption(
      new Option(
        "--oauth-dir <dir>",
        "keep authorizations for MCP servers in files of this directory",
      ).env("SMCP_OAUTH_DIR").default(defaultOAuthDirectory(process.env)),
    )
    .addOption(
      new Option(
        "--input <id=value>",
        "the value of an input; repeatable, and seen by everybody who lists processes: the environment's SMCP_INPUT_<ID> is not",
      ).argParser(collectInput).default({}, "none"),
    )
    .addOption(
      new Option(
        "--max-message <bytes>",
        "the largest message that an MCP server may send; one that writes a longer line is restarted",
      ).env("SMCP_MAX_MESSAGE").argParser(messageBytes)
        .default(DEFAULT_MESSAGE_BYTES),
    );

/** Adds the options about how a Computer serves. */
export const addServingFlags = (command: Command, needed = true): Command =>
  addHostFlags(command, needed)
    .addOption(
      new Option("--name <name>", "the name to join with; unique in the office")
        .env("SMCP_NAME").argParser(readName("--name", "SMCP_NAME"))
        .default(hostname(), "this machine's name"),
    )
    .addOption(
      new Option(
        "--dpe-dir <dir>",
        "publish documents as files of this directory, for agents on this disk",
      ).env("SMCP_DPE_DIR"),
    )
    .addOption(
      new Option("--yes", "run tools without auto_apply unasked")
        .env("SMCP_YES"),
    );

/** Adds the options of `run`. */
export const addRunFlags = (command: Command): Command =>
  addViewFlags(addServingFlags(addServerFlags(command)));

/** Adds the options about what is watched and shown while a Computer serves. */
export const addViewFlags = (command: Command): Command =>
  command
    .addOption(
      new Option("--watch", "take the configuration anew whenever it changes")
        .env("SMCP_WATCH"),
    )
    .addOption(
      new Option("--plain", "write lines on a terminal too, instead of a view")
        .env("SMCP_PLAIN"),
    );

/** Adds the office that a Computer joins. */
export const addOffice = (command: Command, needed = true): Command =>
  command.addOption(
    new Option("--office <office>", "the office to join")
      .env("SMCP_OFFICE").argParser(readName("--office", "SMCP_OFFICE"))
      .makeOptionMandatory(needed),
  );

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
