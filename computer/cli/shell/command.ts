import type { SmcpComputer } from "../../computer.ts";
import type { AskInput } from "../../config/inputs/input_store.ts";
import type { ToolCallEnded } from "../../tools/call_events.ts";
import type { Drawing, TableLook } from "./tables.ts";

/** What the commands of the shell work with. */
export interface ShellContext {
  /** Whom they command. */
  readonly computer: SmcpComputer;
  /** How a table may look. */
  readonly look: () => TableLook;
  /** The calls so far, the last one last. */
  readonly calls: readonly (ToolCallEnded & { readonly at: Date })[];
  /** Asks a person for the value of an input; absent where nobody is there. */
  readonly askInput?: AskInput | undefined;
}

/** A command of the shell. */
export interface ShellCommand {
  /** What is typed, such as `server add`. */
  readonly words: readonly string[];
  /** What follows, such as `<name>|all`. */
  readonly args?: string;
  /** In one line. */
  readonly summary: string;
  /** What may follow, for completion. */
  readonly values?: (context: ShellContext) => readonly string[];
  /** What the history file keeps of what follows, since the rest may be secret; default: all of it. */
  readonly kept?: (rest: string) => string;
  /**
   * Carries it out; what it throws is shown as one line.
   *
   * @param rest what was typed after the words
   * @param signal is aborted by Ctrl-C
   * @returns what is shown; in text, unlike in a drawing, nothing acts on the terminal
   */
  readonly run: (
    rest: string,
    context: ShellContext,
    signal: AbortSignal,
  ) => Promise<Shown> | Shown;
}

/** What a command comes to, one below the other. */
export type Shown = string | Drawing | readonly (string | Drawing)[];

/** Says how a command is typed. */
export const usageOf = ({ words, args }: ShellCommand): string =>
  [...words, ...args === undefined ? [] : [args]].join(" ");

/** Takes the one word that a command needs. */
export function oneWord(rest: string, what: string): string {
  if (/^\S+$/.test(rest)) return rest;
  throw new Error(
    rest === ""
      ? `${what} is missing`
      : `expected one word, ${what}, and nothing more`,
  );
}

/** For {@linkcode ShellCommand.kept}: the name of a file, but no JSON. */
export const keptFile = (rest: string): string =>
  rest.startsWith("@") ? rest : "";

/** Writes JSON for a person. */
export const pretty = (value: unknown): string =>
  JSON.stringify(value, null, 2);
