import { compileErrorText } from "./vrl_text.ts";

/** Checks and runs VRL programs. */
export interface VrlCompiler {
  /** What is wrong with a program, with the line and a caret; undefined when it compiles. */
  check(program: string): string | undefined;
  /**
   * Runs a program; returns what became of the event, of whatever type.
   *
   * @throws {Error} when the program fails or aborts
   */
  run(program: string, event: Record<string, unknown>): unknown;
}

let loading: Promise<VrlCompiler> | undefined;

/** By its file: bundlers would take the build for browsers, which starts nowhere else. */
const importCompiler = (): Promise<typeof import("@bpinternal/verel")> =>
  import("@bpinternal/verel/dist/node/index.js");

/** Loads the compiler with the first use: it has 12 MB, and few configurations need it. */
export function loadVrlCompiler(): Promise<VrlCompiler> {
  return loading ??= importCompiler().then(
    ({ check, execute }) => ({
      check(program) {
        const { errors } = check(program);
        return errors.length === 0
          ? undefined
          : compileErrorText(program, errors);
      },
      run: (program, event) => execute(program, event).event,
    }),
  );
}

/**
 * Checks the VRL program of a configuration (spec §7.9).
 *
 * @throws {Error} with what is wrong, the line and a caret
 */
export async function checkVrl(
  program: string | null | undefined,
): Promise<void> {
  if (!program) return;
  const fault = (await loadVrlCompiler()).check(program);
  if (fault !== undefined) {
    throw new Error(`Cannot compile the VRL program: ${fault}`);
  }
}
