/**
 * VRL programs, which transform results (protocol §7): checking, running, and their errors as texts.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { log } from "./log.ts";
import { reasonOf } from "./values.ts";
import { type CallToolResult, withResultMeta } from "../../protocol/mod.ts";
import { loadPackages } from "../../shared/packages.ts";

/**
 * Runs the VRL program of a server on a result (protocol §7).
 *
 * A failure is logged and leaves the result unchanged; never rejects.
 *
 * @param call the MCP server, for the log, the tool's original name, and its arguments
 */
export async function transformResult(
  result: CallToolResult,
  program: string,
  { server, tool, parameters }: {
    readonly server: string;
    readonly tool: string;
    readonly parameters: Record<string, unknown>;
  },
): Promise<CallToolResult> {
  try {
    const { execute } = await loadCompiler();
    const { event } = execute(program, {
      ...result,
      isError: result.isError ?? false,
      tool_name: tool,
      parameters,
    });
    const output = JSON.stringify(event ?? null); // of any type
    return withResultMeta(result, { [VRL_TRANSFORMED]: output });
  } catch (error) {
    log.warn(
      "The VRL program of MCP server {server} failed on a result of {tool}: {reason}",
      { server, tool, reason: runtimeErrorText(program, reasonOf(error)) },
    );
    return result;
  }
}

/** Key of the result's metadata for the output of its VRL program (protocol §7). */
const VRL_TRANSFORMED = "a2c_vrl_transformed";

type Compiler = typeof import("@bpinternal/verel");

let loading: Promise<Compiler> | undefined;

/**
 * Loads the compiler on first use: it takes 12 MB, and few configurations need it. The Node build is
 * imported by its file, since bundlers would choose the build for browsers.
 */
const loadCompiler = (): Promise<Compiler> =>
  loading ??= loadPackages(
    "run VRL programs",
    ["@bpinternal/verel"],
    () => import("@bpinternal/verel/dist/node/index.js"),
  );

/**
 * Checks the VRL program of a configuration (protocol §7).
 *
 * @throws {Error} with the compiler's errors, the line and a caret
 */
export async function checkVrl(
  program: string | null | undefined,
): Promise<void> {
  if (!program) return;
  const { errors } = (await loadCompiler()).check(program);
  if (errors.length === 0) return;
  const faults = compileErrorText(program, errors);
  throw new Error(`Cannot compile the VRL program: ${faults}`);
}

/** How many errors are shown at most. */
const MAX_ERRORS = 3;

/** Describes compile errors: the message, the line of the program, and a caret below the place. */
const compileErrorText = (
  program: string,
  errors: ReturnType<Compiler["check"]>["errors"],
): string =>
  errors.slice(0, MAX_ERRORS).map(({ message, labels }) => {
    const label = labels.find(({ primary }) => primary) ?? labels[0];
    if (!label) return message;
    // The label of a syntax error holds the compiler's internal names of tokens.
    const what = /syntax token|^$/.test(label.message)
      ? message
      : `${message}: ${label.message}`;
    const { line, column, text } = lineAndColumn(program, label.span[0]);
    const caret = `${" ".repeat(column - 1)}^`;
    return `${what} (line ${line}, column ${column})\n  ${text}\n  ${caret}`;
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
  const { line, column } = lineAndColumn(program, Number(offset));
  return `its function ${name} failed in line ${line}, column ${column}`;
}

/** Converts a byte offset to line and column, both counted from 1. */
function lineAndColumn(
  program: string,
  offset: number,
): { line: number; column: number; text: string } {
  const before = Buffer.from(program).subarray(0, offset).toString();
  const line = before.split("\n").length;
  return {
    line,
    column: before.length - before.lastIndexOf("\n"),
    text: program.split("\n")[line - 1]?.trimEnd() ?? "",
  };
}
