import { Buffer } from "node:buffer";

/** The fields of a compiler diagnostic that are used here. */
export interface VrlDiagnostic {
  /** A short description. */
  readonly message: string;
  /** Places in the program, each with a description; spans are byte offsets. */
  readonly labels: readonly {
    readonly message: string;
    readonly primary: boolean;
    readonly span: readonly [number, number];
  }[];
}

/** How many errors are shown at most. */
const MAX_ERRORS = 3;

/** Describes compile errors: the message, the line of the program, and a caret below the place. */
export const compileErrorText = (
  program: string,
  errors: readonly VrlDiagnostic[],
): string =>
  errors.slice(0, MAX_ERRORS).map(({ message, labels }) => {
    const label = labels.find(({ primary }) => primary) ?? labels[0];
    if (!label) return message;
    // The label of a syntax error holds the compiler's internal names of tokens.
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
 * Describes where a program failed, for the log.
 *
 * Leaves out the compiler's message, which repeats content of the result, and that of an `abort`,
 * which the program may build from it.
 */
export function runtimeErrorText(program: string, message: string): string {
  const [, name, offset] =
    /function call error for "(\w+)" at \((\d+):\d+\)/.exec(message) ?? [];
  if (name === undefined) return "it aborted, or a step of it failed";
  const { line, column } = placeOf(program, Number(offset));
  return `its function ${name} failed in line ${line}, column ${column}`;
}

/** Converts a byte offset to line and column, both counted from 1. */
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
