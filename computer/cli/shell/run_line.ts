import { explainFailure } from "../../../cli/explain_failure.ts";
import { plainLines } from "../../../cli/terminal_text.ts";
import {
  drawTable,
  type ShellCommand,
  type ShellContext,
  usageOf,
} from "./command.ts";
import { INPUT_COMMANDS } from "./input_commands.ts";
import { LOOK_COMMANDS, SOCKET_COMMANDS } from "./office_commands.ts";
import { SERVER_COMMANDS } from "./server_commands.ts";
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

const COMMANDS: readonly ShellCommand[] = [
  {
    words: ["help"],
    summary: "show this list",
    run: (_, { look }) =>
      drawTable(
        ["command", "what it does"],
        [...COMMANDS, QUIT].map((each) => [usageOf(each), each.summary]),
        look(),
      ),
  },
  ...LOOK_COMMANDS,
  ...SERVER_COMMANDS,
  ...INPUT_COMMANDS,
  ...SOCKET_COMMANDS,
];

const QUIT: ShellCommand = {
  words: ["quit"],
  summary: "stop everything and end; Ctrl-D does too",
  run: () => "",
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
    const rest = restOf(text, command);
    const shown = [await command.run(rest, context, signal)].flat();
    const texts = shown.map((part) =>
      typeof part === "string" ? plainLines(part) : part.coloured
    );
    return { text: texts.join("\n") };
  } catch (error) {
    const reason = plainLines(hideSecrets(explainFailure(error)));
    return { text: `error: ${reason}`, failed: true };
  }
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
  const found = new Set<string>();
  for (const { words: own, values } of [...COMMANDS, QUIT]) {
    const common = Math.min(words.length, own.length);
    if (!own.slice(0, common).every((word, i) => word === words[i])) continue;
    const next = own[words.length];
    if (next !== undefined) found.add(`${next} `);
    else if (words.length === own.length) {
      for (const value of values?.(context) ?? []) found.add(value);
    }
  }
  return [[...found].filter((word) => word.startsWith(last)).sort(), last];
}

/**
 * Returns the part of a line that the history keeps: the command without tool parameters, values and
 * definitions; nothing of an unknown command, which may be a pasted secret.
 */
export function keptLine(line: string): string | undefined {
  const text = line.trim();
  const command = isQuit(text) ? QUIT : findCommand(text);
  if (!command?.kept) return command && line;
  const rest = restOf(text, command);
  const kept = command.kept(rest);
  return kept === rest ? line : [...command.words, kept].join(" ").trimEnd();
}

const isQuit = (text: string): boolean => text === "quit" || text === "exit";

const findCommand = (text: string): ShellCommand | undefined => {
  const words = text.split(/\s+/);
  return COMMANDS.filter(({ words: own }) =>
    own.every((word, i) => word === words[i])
  ).toSorted((a, b) => b.words.length - a.words.length)[0];
};

/** Returns the text after the words of a command. */
const restOf = (text: string, { words }: ShellCommand): string =>
  words.reduce((left, word) => left.slice(word.length).trimStart(), text);

function unknown(text: string): string {
  const [first] = text.split(/\s+/, 1);
  const alike = COMMANDS.filter(({ words }) => words[0] === first)
    .map(usageOf);
  return alike.length > 0
    ? `error: write ${alike.join(", or ")}`
    : `error: there is no command "${first}"; help lists them all`;
}
