import { outliveOutput, type Output } from "./closed_output.ts";

/** What is needed of `node:process`. */
interface Process {
  readonly env: object;
  readonly stdout: Output;
  readonly stderr: Output;
  exit(code: number): unknown;
}

/**
 * Makes a process ready to be a command: whoever reads its output may stop, and an environment
 * that it may not read ends it with one line. Commands do this first of all, before packages are
 * loaded that read the environment and would end it with a stack trace.
 */
export function prepare({ env, stdout, stderr, exit }: Process): void {
  outliveOutput(stdout, stderr);
  try {
    Object.keys(env);
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    exit(1);
  }
}
