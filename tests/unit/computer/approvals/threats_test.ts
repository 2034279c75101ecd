import * as approvals from "../../../../computer/approvals/approvals.ts";
import { ATTACKS } from "../../../support/approvals/attacks.ts";

for (const { name, run } of ATTACKS) {
  Deno.test(`${name}`, () => run(approvals));
}
