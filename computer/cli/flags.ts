import { type Command, InvalidArgumentError, Option } from "commander";
import { homedir, hostname } from "node:os";
import process from "node:process";
import { addOptions, integer, option, readName } from "../../cli/flags.ts";
import { addServerFlags } from "../../cli/server_flags.ts";
import {
  DEFAULT_BLOB_STORE_BYTES,
  DEFAULT_UPLOAD_BYTES,
  statePath,
} from "../util/defaults.ts";
import { reasonOf } from "../util/values.ts";
import { readNotifyUrl, readPushHost } from "../approvals/wake_addresses.ts";
import { parseInputFlag } from "../util/inputs.ts";
import {
  checkMessageBytes,
  DEFAULT_MESSAGE_BYTES,
} from "../host/mcp/errors.ts";
import { isAbsolute, join, resolve } from "node:path";

export { addOptions, option };

/** Makes a parser of option values whose errors are about the value; default: with its own message. */
const orInvalid =
  <T>(read: (text: string, before: T) => T, message?: string) =>
  (text: string, before: T): T => {
    try {
      return read(text, before);
    } catch (error) {
      throw new InvalidArgumentError(message ?? reasonOf(error));
    }
  };

const bytes = orInvalid(
  integer(1, Number.MAX_SAFE_INTEGER),
  "Expected a number of bytes, such as 10000000 for 10 MB.",
);

const messageBytes = orInvalid(
  (text) => checkMessageBytes(/^\d+$/.test(text) ? Number(text) : NaN),
  `Expected a number of bytes, such as ${DEFAULT_MESSAGE_BYTES}.`,
);

const collectInput = orInvalid((text, before: Record<string, string>) => {
  const [id, value] = parseInputFlag(text);
  return { ...before, [id]: value };
});

const collectHost = orInvalid((text, before: readonly string[] = []) => [
  ...before,
  readPushHost(text),
]);

/**
 * Creates the options of what needs the configuration of an MCP server, and its authorization.
 *
 * @param required whether `--config` is mandatory
 */
export const signInFlags = (required = true): Option[] => [
  option("--config <file>", "the MCP servers to host")
    .makeOptionMandatory(required),
  option(
    "--oauth-dir <dir>",
    "the directory that keeps authorizations for MCP servers",
  ).default(statePath(process.env, "oauth")),
  new Option(
    "--input <id=value>",
    "the value of an input; repeatable; visible in the list of processes, unlike the environment variable SMCP_INPUT_<ID>",
  ).argParser(collectInput).default({}, "none"),
];

/**
 * Creates the options that configure hosted MCP servers.
 *
 * @param required whether `--config` is mandatory
 */
export const hostFlags = (required = true): Option[] => [
  ...signInFlags(required),
  option(
    "--skills <dir>",
    "the folder of skills: those in its part user are offered, those of MCP servers are kept in its part mcp",
  ).default(defaultSkillHome(process.env)),
  option("--no-skills", "offer no skills"),
  option(
    "--max-message <bytes>",
    "the largest message that an MCP server may send; the request of a longer answer fails",
  ).argParser(messageBytes).default(DEFAULT_MESSAGE_BYTES),
  option(
    "--exit-grace <seconds>",
    "how long an MCP server may take to exit after its input is closed, and again after SIGTERM",
  ).argParser(integer(0, 600)).default(2),
];

/** Creates the options of a Computer that joins an office. */
export const servingFlags = (required = true): Option[] => [
  ...hostFlags(required),
  option("--name <name>", "the name to join with; unique in the office")
    .argParser(readName("--name", "SMCP_NAME"))
    .default(hostname(), "this machine's name"),
  option(
    "--dpe-dir <dir>",
    "publish documents as files in this directory, for agents on the same disk",
  ),
  option(
    "--landing-root <dir>",
    "accept files from agents, and store them in this directory, for the tools here",
  ),
  option("--max-upload <bytes>", "the largest file that is accepted")
    .argParser(bytes).default(DEFAULT_UPLOAD_BYTES),
  option(
    "--blob-store <bytes>",
    "the most bytes of large images and files of results to keep for agents",
  ).argParser(bytes).default(DEFAULT_BLOB_STORE_BYTES),
  option(
    "--refuse-operators",
    "refuse requests of the Server's operators: only agents use the tools",
  ),
  option(
    "--approvals-dir <dir>",
    "the directory that keeps the keys by which paired devices answer",
  ).default(statePath(process.env, "approvals")),
  option(
    "--notify-url <url>",
    "post a sentence to this address when a call waits for an answer, such as https://ntfy.sh/TOPIC",
  ).argParser(orInvalid(readNotifyUrl)),
  option(
    "--push-host <host>",
    "send Web Push to this host too, where a device asks for it; repeatable; those of browsers are known",
  ).argParser(collectHost),
  option(
    "--yes",
    "run tools without confirmation, but for what rules deny or ask every time",
  ),
];

/** Adds the options of `run`. */
export const addRunFlags = (command: Command): Command =>
  addOptions(
    addServerFlags(command),
    ...servingFlags(),
    ...viewFlags(),
    option(
      "--wait",
      "wait for a Server that cannot be reached yet, instead of ending",
    ).default(false),
    officeFlag(),
  );

/** Creates the options about watching the configuration, and showing what happens. */
export const viewFlags = (): Option[] => [
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
];

/** Creates `--office`. */
export const officeFlag = (required = true): Option =>
  option("--office <office>", "the office to join")
    .argParser(readName("--office", "SMCP_OFFICE"))
    .makeOptionMandatory(required);

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
