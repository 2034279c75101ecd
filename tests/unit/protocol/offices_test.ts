import { assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  parseRole,
  readOfficeAck,
} from "../../../protocol/payloads/offices.ts";
import { isOfficeName } from "../../../protocol/names.ts";

Deno.test("readOfficeAck() reads two arguments and one two-element array alike", () => {
  const acks: [sent: unknown[], read: [boolean, string | null]][] = [
    [[true, null], [true, null]],
    [[true], [true, null]],
    [[true, "joined"], [true, null]],
    [[true, null, "more"], [true, null]],
    [[false, "Room already has an agent"], [
      false,
      "Room already has an agent",
    ]],
  ];
  for (const [sent, read] of acks) {
    const at = JSON.stringify(sent);
    assertEquals<unknown>(readOfficeAck(sent), read, at);
    assertEquals<unknown>(readOfficeAck([sent]), read, at);
  }
});

Deno.test("readOfficeAck() never takes an error object for success", () => {
  const acks: [sent: unknown[], reason: string][] = [
    [[{ code: 400, message: "Invalid payload" }], "Invalid payload"],
    [[{ code: 500, message: "broken" }, null], "broken"],
    [[{ error: { code: 404, message: "nested" } }], "nested"],
    [[{ code: 500 }], "refused without a reason"],
    [[{ ok: true }], "refused without a reason"],
    [[], "refused without a reason"],
    [[null], "refused without a reason"],
    [[undefined, undefined], "refused without a reason"],
    [[[]], "refused without a reason"],
    [[[[true, null]]], "refused without a reason"],
    [["true"], "refused without a reason"],
    [[1, null], "refused without a reason"],
    [[false], "refused without a reason"],
    [[false, null], "refused without a reason"],
    [[false, { message: 1 }], "refused without a reason"],
  ];
  for (const [sent, reason] of acks) {
    assertEquals(readOfficeAck(sent), [false, reason], JSON.stringify(sent));
  }
});

Deno.test("parseRole() takes agent and computer, and refuses all else", () => {
  assertEquals(parseRole("agent"), "agent");
  assertEquals(parseRole("computer"), "computer");
  for (const role of [undefined, null, "", "Agent", "server", 1, ["agent"]]) {
    const error = assertThrows(() => parseRole(role), ProtocolError);
    assertEquals(error.code, 400);
  }
});

Deno.test("isOfficeName() takes 1 to 256 UTF-16 units without control characters", () => {
  for (const name of ["a", "家 1", "x".repeat(256), "😀".repeat(128)]) {
    assertEquals(isOfficeName(name), true, name);
  }
  const control = ["a\u0000", "\n", "\u001f", "\u007f", "\u009f"];
  const long = ["x".repeat(257), "😀".repeat(129)];
  for (const data of ["", ...control, ...long, 1, null, undefined, ["a"]]) {
    assertEquals(isOfficeName(data), false, String(data));
  }
});
