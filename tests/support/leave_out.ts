import { changeTests } from "./change_tests.ts";

/** How long a test may run that is expected to fail. */
const TIMEOUT_MS = 10_000;

/** How long any other test may run: one that hangs must not keep the run. */
const HANG_MS = 180_000;

/** Of the engines of tests/wire, this one stands for the replaced server. */
const OTHER_ENGINE = / \[stock\]$/;

/**
 * Leaves out tests of the suites that follow, or runs those alone and expects that they fail, with
 * `SMCP_TEST_LEFT_OUT=1`.
 *
 * @param names of the tests, by reason
 * @param list where one that passes has to be taken out
 * @param changes of the definitions of all tests
 */
export function leaveOut(
  names: Readonly<Record<string, readonly string[]>>,
  list: string,
  changes: Partial<Deno.TestDefinition> = {},
): void {
  const leftOut = new Set(Object.values(names).flat());
  const runsLeftOut = Deno.env.get("SMCP_TEST_LEFT_OUT") === "1";
  changeTests((definition) => {
    const { name, fn } = definition;
    const isLeftOut = leftOut.has(name);
    const ignore = definition.ignore || isLeftOut !== runsLeftOut ||
      OTHER_ENGINE.test(name);
    if (!isLeftOut) {
      return { timeout: HANG_MS, ...definition, ...changes, ignore };
    }
    return {
      name: `left out: ${name}`,
      ignore,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async (context) => {
        if (!await passes(() => fn(context))) return;
        throw new Error(`It passes: take it out of ${list}`);
      },
    };
  });
  // A test that fails leaves promises that nobody waits for any more.
  if (runsLeftOut) {
    addEventListener("unhandledrejection", (event) => event.preventDefault());
  }
}

/** Returns whether a test passes in time. */
async function passes(run: () => void | Promise<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), TIMEOUT_MS);
  const passed = (async () => await run())().then(() => true, () => false);
  return await Promise.race([passed, late]).finally(() => clearTimeout(timer));
}
