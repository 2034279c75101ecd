import { assertEquals } from "@std/assert";
import { UseTable } from "../../../mcp/http/use_table.ts";

Deno.test("UseTable drops the idle value that was used longest ago, and nothing while there is room", () => {
  const table = new UseTable<string>();
  const dropped: string[] = [];
  const drop = (value: string) => Promise.resolve(void dropped.push(value));
  for (const name of ["a", "b", "c"]) table.set(name, name);
  assertEquals(table.makeRoom(4, () => true, drop), true);
  assertEquals(table.use("a"), "a");
  assertEquals(table.get("b"), "b"); // which is no use of it
  assertEquals(table.all.map(([key]) => key), ["b", "c", "a"]);
  assertEquals(table.makeRoom(3, (value) => value !== "b", drop), true);
  assertEquals(dropped, ["c"]);
  table.set("d", "d");
  assertEquals(table.makeRoom(3, () => false, drop), false);
  assertEquals(table.size, 3);
  table.delete("b");
  assertEquals(table.use("b"), undefined);
  assertEquals(table.all.map(([key]) => key), ["a", "d"]);
});
