import { MIXED_CASTS, testCast } from "./support/casts.ts";
import { compareParties } from "./support/table.ts";

Deno.test("the table of mixed offices in README.md has a row for each cast, and no other", () =>
  compareParties("mixed", MIXED_CASTS));

for (const cast of MIXED_CASTS) testCast("mixed", cast);
