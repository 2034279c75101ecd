import type { SmcpComputer } from "../../computer.ts";
import type { AskInput } from "../../config/inputs/input_store.ts";
import type { ToolCallEnded } from "../../tools/events.ts";
import type { Drawing, TableLook } from "./tables.ts";

/** The context of the shell's commands. */
export interface ShellContext {
  /** The Computer. */
  readonly computer: SmcpComputer;
  /** Returns the current width and colours of tables. */
  readonly look: () => TableLook;
  /** The calls so far, the latest last. */
  readonly calls: readonly (ToolCallEnded & { readonly at: Date })[];
  /** Asks the user for the value of an input; absent without a terminal. */
  readonly askInput?: AskInput | undefined;
}

/** A command of the shell. */
export interface ShellCommand {
  /** The words of the command, such as `server add`. */
  readonly words: readonly string[];
  /** The arguments, such as `<name>|all`. */
  readonly args?: string;
  /** The help, in one line. */
  readonly summary: string;
  /** Returns the possible arguments, for completion. */
  readonly values?: (context: ShellContext) => readonly string[];
  /** Returns the part of the arguments that is kept in the history, as the rest may be secret; default: all. */
  readonly kept?: (rest: string) => string;
  /**
   * Runs the command; an error is shown as one line.
   *
   * @param rest the text after the words
   * @param signal aborted by Ctrl-C
   * @returns the output; control characters are removed from text, but not from drawings
   */
  readonly run: (
    rest: string,
    context: ShellContext,
    signal: AbortSignal,
  ) => Promise<Shown> | Shown;
}

/** The output of a command, one part below the other. */
export type Shown = string | Drawing | readonly (string | Drawing)[];

/** Returns the usage of a command. */
export const usageOf = ({ words, args }: ShellCommand): string =>
  [...words, ...args === undefined ? [] : [args]].join(" ");

/** Returns the single word that a command expects. */
export function oneWord(rest: string, what: string): string {
  if (/^\S+$/.test(rest)) return rest;
  throw new Error(
    rest === ""
      ? `${what} is missing`
      : `expected one word, ${what}, and nothing more`,
  );
}

/** Keeps the name of a file, but no JSON; for {@linkcode ShellCommand.kept}. */
export const keptFile = (rest: string): string =>
  rest.startsWith("@") ? rest : "";

/** Formats JSON for reading. */
export const pretty = (value: unknown): string =>
  JSON.stringify(value, null, 2);
