import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Returns the heap of this isolate after a garbage collection, in bytes: unlike the memory of the
 * process, it is not shared with test files that run in parallel.
 */
export function memoryHeld(): number {
  collectGarbage();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

/** Runs a garbage collection. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
}
