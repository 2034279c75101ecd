/**
 * Loaded before the suites that run over the entry for `fetch`: leaves out the tests of
 * `left_out.ts`, or runs those alone and expects that they fail, with `SMCP_TEST_LEFT_OUT=1`.
 *
 * @module
 */
import { changeTests } from "../support/change_tests.ts";
import { LEFT_OUT } from "./left_out.ts";

/** How long a test may run that is expected to fail. */
const TIMEOUT_MS = 10_000;

/** How long any other test may run: one that hangs must not keep the run. */
const HANG_MS = 180_000;

const leftOut = new Set(Object.values(LEFT_OUT).flat());
const runsLeftOut = Deno.env.get("SMCP_TEST_LEFT_OUT") === "1";

/** Of the engines of tests/wire, this one stands for the entry. */
const OTHER_ENGINE = / \[stock\]$/;

changeTests((definition) => {
  const { name, fn } = definition;
  const isLeftOut = leftOut.has(name);
  const ignore = definition.ignore || isLeftOut !== runsLeftOut ||
    OTHER_ENGINE.test(name);
  if (!isLeftOut) return { timeout: HANG_MS, ...definition, ignore };
  return {
    name: `left out: ${name}`,
    ignore,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async (context) => {
      if (!await passes(() => fn(context))) return;
      throw new Error("It passes: take it out of tests/fetch/left_out.ts");
    },
  };
});

/** Returns whether a test passes in time. */
async function passes(run: () => void | Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), TIMEOUT_MS);
  });
  const passed = (async () => {
    try {
      await run();
      return true;
    } catch {
      return false;
    }
  })();
  try {
    return await Promise.race([passed, late]);
  } finally {
    clearTimeout(timer);
  }
}

// A test that fails leaves promises that nobody waits for any more.
if (runsLeftOut) {
  addEventListener("unhandledrejection", (event) => event.preventDefault());
}
