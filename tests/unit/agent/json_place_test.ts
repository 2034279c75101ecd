import { assertEquals, assertThrows } from "@std/assert";
import { describePlace } from "../../../agent/cli/call.ts";

Deno.test("describePlace() knows the places in the errors of V8's JSON parser", () => {
  const rows: [json: string, place: string][] = [
    ['{"a": ', ": it ends too early"],
    ['{"a": 1', ": see line 1, column 8"],
    ["", ": it ends too early"],
    ["{path: .}", ": see line 1, column 2"],
    ['{"a": 1,\n "b" 2}', ": see line 2, column 6"],
    ['{"a": 1} {', ": see line 1, column 10"],
  ];
  for (const [json, place] of rows) {
    const error = assertThrows(() => JSON.parse(json), SyntaxError);
    assertEquals(describePlace(json, error), place, `${json}: ${error}`);
  }
  assertEquals(describePlace("", new Error("something else")), "");
});
