import { assertEquals } from "@std/assert";
import { GatewayPass } from "../../../../server/auth/gateway_pass.ts";
import { CallSources } from "../../../../server/observe/call_sources.ts";

Deno.test("CallSources.of() knows who makes a call of a gateway's Agent, and of no other", () => {
  const { identity } = new GatewayPass();
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

Deno.test("GatewayPass.matches() takes its own secret alone, which is another in each process", () => {
  const pass = new GatewayPass();
  assertEquals(pass.matches(pass.headers), true);
  assertEquals(pass.matches(new GatewayPass().headers), false);
  for (const sent of ["", "x", "é".repeat(43)]) {
    assertEquals(pass.matches({ "x-smcp-gateway": sent }), false);
  }
  assertEquals(pass.matches({}), false);
});
