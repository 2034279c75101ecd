import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * What this isolate holds after a collection of garbage, in bytes: unlike the memory of the
 * process, which test files that run side by side share, it is this test's own.
 */
export function memoryHeld(): number {
  collectGarbage();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Collects what nobody holds any more. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
}
