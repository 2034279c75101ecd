import type { MCPServerCommandInput } from "../../protocol/mod.ts";

/** What an input of type `command` runs. */
export type CommandLine =
  | {
    /** A program, looked up in `PATH`, with its arguments. */
    readonly kind: "program";
    readonly program: string;
    readonly args: readonly string[];
  }
  | {
    /** A shell command line. */
    readonly kind: "shell";
    readonly line: string;
  };

/**
 * Determines what an input of type `command` runs (spec §4).
 *
 * Without `args` the command is a shell command line, as in the Python SDK; with a list, a program
 * and its arguments. A map stands for options: `{"field": "token"}` is `--field token`, a name of
 * one letter gets one dash, and a name with leading dashes keeps them.
 */
export function commandLine(
  { command, args }: Pick<MCPServerCommandInput, "command" | "args">,
): CommandLine {
  if (Array.isArray(args)) return { kind: "program", program: command, args };
  const options = Object.entries(args ?? {});
  if (options.length === 0) return { kind: "shell", line: command };
  return {
    kind: "program",
    program: command,
    args: options.flatMap(([name, value]) => [optionOf(name), value]),
  };
}

function optionOf(name: string): string {
  if (name.startsWith("-")) return name;
  return name.length === 1 ? `-${name}` : `--${name}`;
}
