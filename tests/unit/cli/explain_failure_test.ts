import { assertEquals } from "@std/assert";
import { explainFailure } from "../../../cli/explain_failure.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";

Deno.test("explainFailure() names no flag for a 408: the commands that may get one have none", () => {
  const silent = 'Computer "pc" did not answer within 35 s';
  assertEquals(
    explainFailure(new ProtocolError(ErrorCode.TIMEOUT, silent)),
    `${silent}; the Computer may be overloaded: try again`,
  );
});
