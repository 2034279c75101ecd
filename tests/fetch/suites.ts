/**
 * The suites that also run over the entry for `fetch`.
 *
 * @module
 */

/** Those that start a server in their own process. */
export const SUITES = [
  "tests/e2e/spec",
  "tests/e2e/server",
  "tests/wire",
];

/**
 * Suites of the command and of the operator API, which this entry has not, and those of the entry itself; and
 * of sign-in on loopback, since a server behind `fetch` has no address but its `publicUrl`: that is tested by
 * `tests/edge/workers/sign_in_test.ts`.
 */
export const IGNORED = [
  "tests/e2e/server/command_test.ts",
  "tests/e2e/server/fetch",
  "tests/e2e/server/hostile/log_reader_test.ts",
  "tests/e2e/server/hostile/memory_test.ts",
  "tests/e2e/server/hostile/packets_test.ts",
  "tests/e2e/server/hostile/payloads_test.ts",
  "tests/e2e/server/operator",
  "tests/e2e/server/sign_in",
];
