import type { MCPServerCommandInput } from "../../protocol/mod.ts";

/** What to run for an input of type `command`. */
export type CommandLine =
  | {
    /** A program, found as the shell would find it, and its arguments as they are. */
    readonly kind: "program";
    readonly program: string;
    readonly args: readonly string[];
  }
  | {
    /** A line for the shell. */
    readonly kind: "shell";
    readonly line: string;
  };

/**
 * Says what to run for an input of type `command` (spec §4).
 *
 * Without `args` the command is a line for the shell, as in the Python SDK. With a list it is a
 * program and its arguments. A map stands for options: `{"field": "token"}` is `--field token`,
 * a name of one letter gets one dash, and a name that has dashes keeps them.
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
