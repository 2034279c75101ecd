/**
 * Runs a test file of this repository in Bun, and reports each test in TAP.
 *
 * ```sh
 * bun --define Deno:denoInBun --preload ./tests/edge/bun/in_bun/namespace.ts \
 *   tests/edge/bun/in_bun/run_suite.ts tests/wire/socket_io_test.ts
 * ```
 *
 * @module
 */
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import {
  after,
  before,
  context,
  LEFT_OUT_MARK,
  type Registered,
  registered,
} from "./register.ts";

/** How long a test may run: one that hangs must not keep the run. */
const LIMIT_MS = 120_000;

/** How long a test may run that is expected to fail. */
const LEFT_OUT_LIMIT_MS = 10_000;

/** Of the engines of tests/wire, the other one stands for `fetch`. */
const OTHER_ENGINE = / \[stock\]$/;

/** Errors that no promise of a test took. */
let uncaught: unknown[] = [];
process.on("unhandledRejection", (error) => uncaught.push(error));
process.on("uncaughtException", (error) => uncaught.push(error));

/** Runs a test; throws what it fails with. */
async function run({ fn }: Registered, limit: number): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`Did not end within ${limit} ms`)),
    limit,
  );
  uncaught = [];
  try {
    await Promise.race([fn(context), late.promise]);
  } finally {
    clearTimeout(timer);
  }
  if (uncaught.length > 0) throw uncaught[0];
}

/** Runs a test that is expected to fail; throws when it passes. */
async function fail(test: Registered): Promise<void> {
  const passed = await run(test, LEFT_OUT_LIMIT_MS).then(
    () => true,
    () => false,
  );
  if (passed) {
    throw new Error("It passes: take it out of tests/edge/bun/left_out.ts");
  }
}

const [file = "", leftOut = "[]", way] = process.argv.slice(2);
const names: readonly string[] = JSON.parse(leftOut);
await import(pathToFileURL(resolve(file)).href);
console.log("TAP version 13");
let count = 0;
for (const hook of before) await hook();
const tests = registered.filter(({ name, ignore }) =>
  !ignore && !(way === "fetch" && OTHER_ENGINE.test(name))
);
const isLeftOut = ({ name }: Registered) => names.includes(name);
// The others come first: what fails leaves behind what it had begun.
for (
  const test of [
    ...tests.filter((it) => !isLeftOut(it)),
    ...tests.filter(isLeftOut),
  ]
) {
  const name = isLeftOut(test) ? `${LEFT_OUT_MARK}${test.name}` : test.name;
  count++;
  try {
    if (isLeftOut(test)) await fail(test);
    else await run(test, test.timeout ?? LIMIT_MS);
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    const text = error instanceof Error ? error.stack ?? error.message : error;
    console.log(`not ok ${count} - ${name}\n${text}`);
  }
}
for (const hook of after) await hook();
console.log(`1..${count}`);
process.exit(0);
