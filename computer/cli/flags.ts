import { type Command, InvalidArgumentError, Option } from "commander";
import { homedir, hostname } from "node:os";
import process from "node:process";
import { integer, readName } from "../../cli/flags.ts";
import { addServerFlags } from "../../cli/server_flags.ts";
import {
  DEFAULT_BLOB_STORE_BYTES,
  DEFAULT_UPLOAD_BYTES,
} from "../blobs/blobs.ts";
import { reasonOf } from "../util/values.ts";
import { defaultOAuthDirectory } from "../host/oauth/authorizations.ts";
import { parseInputFlag } from "../util/inputs.ts";
import {
  checkMessageBytes,
  DEFAULT_MESSAGE_BYTES,
} from "../host/mcp/errors.ts";
import { isAbsolute, join, resolve } from "node:path";

/**
 * Adds the options that configure hosted MCP servers.
 *
 * @param required whether `--config` is mandatory
 */
export const addHostFlags = (command: Command, required = true): Command =>
  command
    .addOption(
      new Option("--config <file>", "the MCP servers to host")
        .env("SMCP_CONFIG").makeOptionMandatory(required),
    )
    .addOption(
      new Option(
        "--oauth-dir <dir>",
        "the directory that keeps authorizations for MCP servers",
      ).env("SMCP_OAUTH_DIR").default(defaultOAuthDirectory(process.env)),
    )
    .addOption(
      new Option(
        "--skills <dir>",
        "the folder of skills: those in its part user are offered, those of MCP servers are kept in its part mcp",
      ).env("SMCP_SKILLS").default(defaultSkillHome(process.env)),
    )
    .addOption(
      new Option("--no-skills", "offer no skills").env("SMCP_NO_SKILLS"),
    )
    .addOption(
      new Option(
        "--input <id=value>",
        "the value of an input; repeatable; visible to everybody who lists processes, unlike the environment variable SMCP_INPUT_<ID>",
      ).argParser(collectInput).default({}, "none"),
    )
    .addOption(
      new Option(
        "--max-message <bytes>",
        "the largest message that an MCP server may send; one that writes a longer line is restarted",
      ).env("SMCP_MAX_MESSAGE").argParser(messageBytes)
        .default(DEFAULT_MESSAGE_BYTES),
    );

/** Adds the options of a Computer that joins an office. */
export const addServingFlags = (command: Command, required = true): Command =>
  addHostFlags(command, required)
    .addOption(
      new Option("--name <name>", "the name to join with; unique in the office")
        .env("SMCP_NAME").argParser(readName("--name", "SMCP_NAME"))
        .default(hostname(), "this machine's name"),
    )
    .addOption(
      new Option(
        "--dpe-dir <dir>",
        "publish documents as files in this directory, for agents on the same disk",
      ).env("SMCP_DPE_DIR"),
    )
    .addOption(
      new Option(
        "--landing-root <dir>",
        "take files that agents send, and put them into this directory, for the tools here",
      ).env("SMCP_LANDING_ROOT"),
    )
    .addOption(
      new Option("--max-upload <bytes>", "the largest file that is taken")
        .env("SMCP_MAX_UPLOAD").argParser(bytes).default(DEFAULT_UPLOAD_BYTES),
    )
    .addOption(
      new Option(
        "--blob-store <bytes>",
        "how much of large images and files of results is kept for agents to fetch",
      ).env("SMCP_BLOB_STORE").argParser(bytes)
        .default(DEFAULT_BLOB_STORE_BYTES),
    )
    .addOption(
      new Option(
        "--refuse-operators",
        "answer no questions of the Server's operators: only agents use the tools",
      ).env("SMCP_REFUSE_OPERATORS"),
    )
    .addOption(
      new Option("--yes", "run every tool without confirmation")
        .env("SMCP_YES"),
    );

/** Adds the options of `run`. */
export const addRunFlags = (command: Command): Command =>
  addViewFlags(addServingFlags(addServerFlags(command))).addOption(
    new Option(
      "--wait",
      "wait for a Server that cannot be reached yet, instead of ending",
    ).env("SMCP_WAIT").default(false),
  );

/** Adds the options about watching the configuration, and showing what happens. */
export const addViewFlags = (command: Command): Command =>
  command
    .addOption(
      new Option("--watch", "reload the configuration when its file changes")
        .env("SMCP_WATCH"),
    )
    .addOption(
      new Option(
        "--plain",
        "print lines instead of a live view, on a terminal too",
      )
        .env("SMCP_PLAIN"),
    )
    .addOption(
      new Option(
        "--ui",
        "serve a page on 127.0.0.1 that shows the Computer and answers its questions, and print its link",
      ).env("SMCP_UI"),
    )
    .addOption(
      new Option(
        "--ui-port <number>",
        "the port of the page, by default any free one; implies --ui",
      ).env("SMCP_UI_PORT").argParser(integer(0, 65535)),
    );

/** Adds `--office`. */
export const addOffice = (command: Command, required = true): Command =>
  command.addOption(
    new Option("--office <office>", "the office to join")
      .env("SMCP_OFFICE").argParser(readName("--office", "SMCP_OFFICE"))
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
