import * as approvals from "../../../../computer/approvals/approvals.ts";
import { ATTACKS } from "../../../support/approvals/attacks.ts";
import { PAIRING_ATTACKS } from "../../../support/approvals/pairing_attacks.ts";

for (const { name, run } of [...ATTACKS, ...PAIRING_ATTACKS]) {
  Deno.test(`${name}`, () => run(approvals));
}
