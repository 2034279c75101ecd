import { explainFailure } from "../../protocol/cli/explain_failure.ts";
import { plainLines } from "../../protocol/cli/terminal_text.ts";
import {
  type ShellCommand,
  type ShellContext,
  type Shown,
  usageOf,
} from "./command.ts";
import { completeLine } from "./complete_line.ts";
import { INPUT_COMMANDS } from "./input_commands.ts";
import { LOOK_COMMANDS, SOCKET_COMMANDS } from "./office_commands.ts";
import { SERVER_COMMANDS } from "./server_commands.ts";
import { drawTable } from "./tables.ts";

/** What a line came to. */
export interface LineOutcome {
  /** What is shown. */
  readonly text: string;
  /** Whether it went wrong. */
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
        [...COMMANDS, QUIT].map((command) => [
          usageOf(command),
          command.summary,
        ]),
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
 * Carries out a line that was typed into the shell; never rejects.
 *
 * @param signal is aborted by Ctrl-C
 */
export async function runLine(
  line: string,
  context: ShellContext,
  signal: AbortSignal,
): Promise<LineOutcome> {
  const text = line.trim();
  if (text === "") return { text: "" };
  if (text === "quit" || text === "exit") return { text: "", quit: true };
  const command = findCommand(text);
  if (!command) return { text: unknown(text), failed: true };
  const rest = text.split(/\s+/, command.words.length)
    .reduce((left, word) => left.slice(word.length).trimStart(), text);
  try {
    return { text: asText(await command.run(rest, context, signal)) };
  } catch (error) {
    return {
      text: `error: ${plainLines(explainFailure(error))}`,
      failed: true,
    };
  }
}

const asText = (shown: Shown): string =>
  [shown].flat().map((part) =>
    typeof part === "string" ? plainLines(part) : part.coloured
  ).join("\n");

/** Completes a line for `node:readline`. */
export const completeShell = (
  line: string,
  context: ShellContext,
): [string[], string] =>
  completeLine(
    line,
    [...COMMANDS, QUIT].map(({ words, values }) => ({
      words,
      values: values && (() => values(context)),
    })),
  );

/** Whether a line may be kept in a file: some hold values that are secret. */
export const mayBeKept = (line: string): boolean =>
  line.trim() !== "" &&
  !/^\s*(inputs\s+(value\s+set|add|update)|server\s+add)\s+(?!@)/.test(line);

const findCommand = (text: string): ShellCommand | undefined => {
  const words = text.split(/\s+/);
  return COMMANDS.filter(({ words: own }) =>
    own.every((word, i) => word === words[i])
  ).toSorted((a, b) => b.words.length - a.words.length)[0];
};

function unknown(text: string): string {
  const [first] = text.split(/\s+/, 1);
  const alike = COMMANDS.filter(({ words }) => words[0] === first)
    .map(usageOf);
  return alike.length > 0
    ? `error: write ${alike.join(", or ")}`
    : `error: there is no command "${first}"; help lists them all`;
}
