import { execFile } from "node:child_process";
import process from "node:process";

/** The end of a program. */
export interface ProgramEnd {
  /** Its exit code; 1 if a signal ended it. */
  readonly code: number;
  /** What it wrote to stdout. */
  readonly stdout: string;
  /** What it wrote to stderr, without white space around it. */
  readonly stderr: string;
}

/** Runs a program to its end; `undefined` if there is no such program. */
export type RunProgram = (
  program: string,
  ...args: readonly string[]
) => Promise<ProgramEnd | undefined>;

/** Log lines can be long. */
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

/** Runs a program of the system; its messages are in English. */
export const runProgram: RunProgram = (program, ...args) =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: "C.UTF-8" };
    const options = { env, maxBuffer: MAX_OUTPUT_BYTES };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error?.code === "ENOENT") return resolve(undefined);
      if (error && typeof error.code === "string") return reject(error);
      resolve({
        code: error ? Number(error.code ?? 1) : 0,
        stdout,
        stderr: stderr.trim(),
      });
    });
  });

/**
 * Runs a program that has to succeed.
 *
 * @throws {Error} with its message
 */
export async function mustRun(
  run: RunProgram,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  const end = await run(program, ...args);
  if (end?.code === 0) return end.stdout;
  throw new Error(
    `"${[program, ...args].join(" ")}" failed: ${
      end === undefined
        ? "there is no such program"
        : end.stderr.replaceAll(/\s*\n\s*/g, " ") || `exit code ${end.code}`
    }`,
  );
}
