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
  BY_CHANCE_MARK,
  context,
  FAILING_MARK,
  type LeftOut,
  type Registered,
  registered,
} from "./register.ts";

/** How long a test may run: one that hangs must not keep the run. */
const LIMIT_MS = 120_000;

/** How long a test may run that is expected to fail. */
const FAILING_LIMIT_MS = 10_000;

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
  const passed = await run(test, FAILING_LIMIT_MS).then(
    () => true,
    () => false,
  );
  if (passed) {
    throw new Error("It passes: take it out of tests/edge/bun/left_out.ts");
  }
}

const [file = "", leftOut = "", way] = process.argv.slice(2);
const { failing, byChance }: LeftOut = JSON.parse(leftOut);
await import(pathToFileURL(resolve(file)).href);
console.log("TAP version 13");
let count = 0;
for (const hook of before) await hook();
const tests = registered.filter(({ name, ignore }) =>
  !ignore && !(way === "fetch" && OTHER_ENGINE.test(name))
);
const isFailing = ({ name }: Registered) => failing.includes(name);
const isByChance = ({ name }: Registered) => byChance.includes(name);

/** Runs a test and reports it. */
async function report(
  name: string,
  runTest: () => Promise<void>,
): Promise<void> {
  count++;
  try {
    await runTest();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    const text = error instanceof Error ? error.stack ?? error.message : error;
    console.log(`not ok ${count} - ${name}\n${text}`);
  }
}

for (const test of tests) {
  if (isFailing(test) || isByChance(test)) continue;
  await report(test.name, () => run(test, test.timeout ?? LIMIT_MS));
}
// They come last: what fails leaves behind what it had begun.
for (const test of tests.filter(isFailing)) {
  await report(FAILING_MARK + test.name, () => fail(test));
}
for (const { name } of tests.filter(isByChance)) {
  await report(BY_CHANCE_MARK + name, () => Promise.resolve());
}
for (const hook of after) await hook();
console.log(`1..${count}`);
process.exit(0);
