import { explainFailure } from "../../../cli/explain_failure.ts";
import { plainLines } from "../../../cli/terminal_text.ts";
import {
  drawTable,
  type ShellCommand,
  type ShellCommands,
  type ShellContext,
  type Table,
} from "./command.ts";
import { APPROVAL_COMMANDS } from "./approval_commands.ts";
import { INPUT_COMMANDS } from "./input_commands.ts";
import { LOOK_COMMANDS, SOCKET_COMMANDS } from "./office_commands.ts";
import { SERVER_COMMANDS } from "./server_commands.ts";
import type { Look } from "../screen.ts";
import { hideSecrets } from "../../util/secrets.ts";

/** The outcome of a line. */
export interface LineOutcome {
  /** The output. */
  readonly text: string;
  /** Whether the command failed. */
  readonly failed?: true;
  /** Whether the shell ends. */
  readonly quit?: true;
}

const COMMANDS: ShellCommands = {
  help: {
    summary: "show this list",
    run: () => ({
      head: ["command", "description"],
      rows: Object.entries(LISTED)
        .map(([usage, { summary }]) => [usage, summary]),
    }),
  },
  ...LOOK_COMMANDS,
  ...SERVER_COMMANDS,
  ...INPUT_COMMANDS,
  ...SOCKET_COMMANDS,
  ...APPROVAL_COMMANDS,
};

/** The commands for help and completion. */
const LISTED: Readonly<Record<string, Omit<ShellCommand, "run">>> = {
  ...COMMANDS,
  quit: { summary: "stop everything and end; Ctrl-D does too" },
};

/**
 * Runs a line of the shell; never rejects.
 *
 * @param signal aborted by Ctrl-C
 */
export async function runLine(
  line: string,
  context: ShellContext,
  signal: AbortSignal,
): Promise<LineOutcome> {
  const text = line.trim();
  if (text === "") return { text: "" };
  if (isQuit(text)) return { text: "", quit: true };
  const command = findCommand(text);
  if (!command) return { text: unknown(text), failed: true };
  try {
    const shown = [await command.run(command.rest, context, signal)].flat();
    const texts = shown.map((part) => renderPart(part, context.look()));
    return { text: texts.join("\n") };
  } catch (error) {
    const reason = plainLines(hideSecrets(explainFailure(error)));
    return { text: `error: ${reason}`, failed: true };
  }
}

function renderPart(part: string | Table, look: Look): string {
  if (typeof part === "string") return plainLines(part);
  const { none, rows } = part;
  return none !== undefined && rows.length === 0 ? none : drawTable(part, look);
}

/**
 * Completes a line of the shell, for `node:readline`.
 *
 * @returns the completions of the last word, and that word
 */
export function completeShell(
  line: string,
  context: ShellContext,
): [string[], string] {
  const words = line.trimStart().split(/\s+/);
  const last = words.pop() ?? "";
  const found = Object.entries(LISTED).flatMap(([usage, { values }]) => {
    const own = commandWords(usage);
    if (!words.every((word, i) => word === own[i])) return [];
    const next = own[words.length];
    return next === undefined ? values?.(context) ?? [] : [`${next} `];
  }).filter((word) => word.startsWith(last));
  return [[...new Set(found)].sort(), last];
}

/**
 * Returns the part of a line that the history keeps: the command without tool parameters, values and
 * definitions; nothing of an unknown command, which may be a pasted secret.
 */
export function keptLine(line: string): string | undefined {
  const text = line.trim();
  if (isQuit(text)) return line;
  const command = findCommand(text);
  if (!command) return undefined;
  const { usage, rest, kept = usage.includes("<json") ? keptFile : keptAll } =
    command;
  const own = kept(rest);
  return own === rest ? line : [...command.words, own].join(" ").trimEnd();
}

const keptAll = (rest: string): string => rest;

/** JSON may hold secrets: only the name of its file is kept. */
const keptFile = (rest: string): string => rest.startsWith("@") ? rest : "";

const isQuit = (text: string): boolean => text === "quit" || text === "exit";

const commandWords = (usage: string): string[] =>
  usage.split(" ").filter((word) => /^[a-z]/.test(word));

/** Finds the command with the most words, and the text after them. */
function findCommand(text: string) {
  const typed = text.split(/\s+/);
  const [found] = Object.entries(COMMANDS)
    .map(([usage, command]) => ({
      ...command,
      usage,
      words: commandWords(usage),
    }))
    .filter(({ words }) => words.every((word, i) => word === typed[i]))
    .sort((a, b) => b.words.length - a.words.length);
  const after = (left: string, word: string) =>
    left.slice(word.length).trimStart();
  return found && { ...found, rest: found.words.reduce(after, text) };
}

function unknown(text: string): string {
  const [first] = text.split(/\s+/, 1);
  const alike = Object.keys(COMMANDS)
    .filter((usage) => commandWords(usage)[0] === first);
  return alike.length > 0
    ? `error: write ${alike.join(", or ")}`
    : `error: there is no command "${first}"; help lists them all`;
}
