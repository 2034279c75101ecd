import { Buffer } from "node:buffer";

/** What the compiler says of one mistake, as far as it is told. */
export interface VrlDiagnostic {
  /** In a few words. */
  readonly message: string;
  /** Where, and what it is about there; offsets are bytes of the program. */
  readonly labels: readonly {
    readonly message: string;
    readonly primary: boolean;
    readonly span: readonly [number, number];
  }[];
}

/** The lines of the program that are shown at most. */
const MOST = 3;

/** Says what is wrong with a program: the words, the line, and a caret below the place. */
export const compileErrorText = (
  program: string,
  errors: readonly VrlDiagnostic[],
): string =>
  errors.slice(0, MOST).map(({ message, labels }) => {
    const label = labels.find(({ primary }) => primary) ?? labels[0];
    if (!label) return message;
    // Of a slip of syntax the compiler tells its own names of what it read.
    const what = /syntax token|^$/.test(label.message)
      ? message
      : `${message}: ${label.message}`;
    const { line, column, text } = placeOf(program, label.span[0]);
    const indent = "  ";
    return `${what} (line ${line}, column ${column})\n${indent}${text}\n${indent}${
      " ".repeat(column - 1)
    }^`;
  }).join("\n");

/**
 * Says where a program failed, for a log: never with the compiler's words, which repeat what is in
 * the result, nor with those of an `abort`, which may be made of it.
 */
export function runtimeErrorText(program: string, message: string): string {
  const [, name, offset] =
    /function call error for "(\w+)" at \((\d+):\d+\)/.exec(message) ?? [];
  if (name === undefined) return "it aborted, or a step of it failed";
  const { line, column } = placeOf(program, Number(offset));
  return `its function ${name} failed in line ${line}, column ${column}`;
}

/** A place in a program, by its bytes; both counted from 1. */
function placeOf(
  program: string,
  offset: number,
): { line: number; column: number; text: string } {
  const before = Buffer.from(program).subarray(0, offset).toString()
    .split("\n");
  const text = program.split("\n")[before.length - 1] ?? "";
  return {
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    text: text.trimEnd(),
  };
}
