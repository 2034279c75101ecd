/**
 * Loaded before every test file of `deno task test`: limits the time of each test, so that one that waits
 * for an event in vain fails with its name, and the others still have their turn.
 *
 * @module
 */
import { changeTests } from "./support/change_tests.ts";

/** Far above what the slowest test takes on a busy machine; those that start many processes set their own. */
const LIMIT_MS = 180_000;

changeTests((definition) => ({ timeout: LIMIT_MS, ...definition }));
