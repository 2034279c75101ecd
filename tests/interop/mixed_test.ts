import { compareParties, MIXED_CASTS, testCast } from "./support/casts.ts";

Deno.test("the table of mixed offices in README.md has a row for each cast, and no other", () =>
  compareParties("mixed", MIXED_CASTS));

for (const cast of MIXED_CASTS) testCast("mixed", cast);
