import { assertEquals } from "@std/assert";
import { MemoryRegistry } from "../../../../server/mod.ts";
import { member } from "../../../support/member.ts";

const fresh = { role: undefined, member: undefined };

Deno.test("MemoryRegistry.claim() takes the seat when it admits, and no other", () => {
  const registry = new MemoryRegistry();
  const first = member();
  assertEquals(registry.claim(first, fresh), { kind: "admit", rev: 1 });
  assertEquals(registry.claim(member({ socket: "s2" }), fresh).kind, "refuse");
  assertEquals(registry.list("north"), [{ ...first, rev: 1 }]);
  assertEquals(registry.list("south"), []);
});

Deno.test("MemoryRegistry.release() keeps a seat that another socket took over", () => {
  const registry = new MemoryRegistry();
  const old = member({ instance: "i" });
  const back = member({ instance: "i", socket: "s2" });
  registry.claim(old, fresh);
  assertEquals(registry.claim(back, fresh), {
    kind: "admit",
    evict: { ...old, rev: 1 },
    rev: 2,
  });
  assertEquals(registry.release(old), 0);
  assertEquals(registry.list("north"), [{ ...back, rev: 2 }]);
});

Deno.test("MemoryRegistry.list() returns the agent first, then computers as they joined, and nothing after the last release", () => {
  const registry = new MemoryRegistry();
  const members = [
    member(),
    member({ name: "mac", socket: "s2" }),
    member({ role: "agent", name: "pc", socket: "s3" }),
  ];
  for (const each of members) registry.claim(each, fresh);
  assertEquals(registry.list("north").map((m) => m.socket), ["s3", "s1", "s2"]);
  for (const each of members) registry.release(each);
  assertEquals(registry.list("north"), []);
  assertEquals(registry.list("constructor"), []);
});
