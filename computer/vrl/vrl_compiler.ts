import { loadPackages } from "../../shared/packages.ts";
import { compileErrorText } from "./vrl_text.ts";

/** Checks and runs VRL programs. */
export interface VrlCompiler {
  /** Returns the compiler's errors with the line and a caret; undefined when the program compiles. */
  check(program: string): string | undefined;
  /**
   * Runs a program; returns the event afterwards, which may be of any type.
   *
   * @throws {Error} when the program fails or aborts
   */
  run(program: string, event: Record<string, unknown>): unknown;
}

let loading: Promise<VrlCompiler> | undefined;

/** Imports the Node build by its file: bundlers would choose the build for browsers. */
const importCompiler = (): Promise<typeof import("@bpinternal/verel")> =>
  loadPackages(
    "run VRL programs",
    ["@bpinternal/verel"],
    () => import("@bpinternal/verel/dist/node/index.js"),
  );

/** Loads the compiler on first use: it takes 12 MB, and few configurations need it. */
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
 * @throws {Error} with the compiler's errors, the line and a caret
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
