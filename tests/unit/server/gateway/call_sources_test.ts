import { assertEquals } from "@std/assert";
import { CallSources } from "../../../../server/observe/watch_calls.ts";

Deno.test("CallSources.of() knows who makes a call of a gateway's Agent, and of no other", () => {
  const identity = { principal: "gateway" };
  const sources = new CallSources(identity);
  const source = { principal: "key:ann", client: "claude 1" };
  const forget = sources.add("1", source);
  assertEquals(sources.of(identity, "1"), source);
  assertEquals(sources.of(identity, "2"), undefined);
  assertEquals(sources.of({ ...identity }, "1"), undefined);
  assertEquals(sources.of(undefined, "1"), undefined);
  forget();
  assertEquals(sources.of(identity, "1"), undefined);
});
