import { assertEquals, assertThrows } from "@std/assert";
import {
  LeadsBackError,
  OwnOffices,
} from "../../../../computer/host/mcp/own_offices.ts";

Deno.test("OwnOffices refuse what leads to an office that the Computer is in, until it leaves", () => {
  const own = new OwnOffices();
  own.check(["a"]);
  assertEquals(own.add([], "north"), false);
  assertEquals(own.add(["a"], "north"), true);
  assertEquals(own.add(["a"], "north"), false);
  own.check([]);
  own.check(["b", "c"]);
  assertThrows(() => own.check(["b", "a"]), LeadsBackError, '"north"');
  own.clear();
  own.check(["a"]);
});

Deno.test("OwnOffices keep the 16 newest ids: an Agent that takes the seat anew may bring another each time", () => {
  const own = new OwnOffices();
  for (let i = 0; i < 100; i++) own.add([`id${i}`], "north");
  assertEquals(own.ids, Array.from({ length: 16 }, (_, i) => `id${84 + i}`));
});

Deno.test("OwnOffices explain an error that names an office, or whose cause does", () => {
  const own = new OwnOffices();
  own.add(["a"], "north");
  const naming = (ids: unknown) =>
    Object.assign(new Error("no"), { data: { "a2c-smcp/offices": ids } });
  const plain = new Error("no", { cause: naming(["b"]) });
  assertEquals(own.explain(plain), plain);
  assertEquals(own.explain("text"), "text");
  for (
    const cause of [naming(["a"]), new Error("x", { cause: naming(["a"]) })]
  ) {
    const explained = own.explain(new Error("no", { cause }));
    assertEquals(explained instanceof LeadsBackError, true);
  }
});
