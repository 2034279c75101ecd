import { assertEquals, assertStringIncludes } from "@std/assert";
import { GATEWAY_KEYS } from "../../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { SignedInServer } from "../../../support/server/signed_in_server.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";

Deno.test("sign-in #32: no token of a program reaches a Computer, and none of another service is let in", async () => {
  await using server = await SignedInServer.start();
  const auth = { api_key: GATEWAY_KEYS.computer };
  const at = { url: server.url, auth };
  await using spy = await joinRaw(at, "computer", "spy", "north");
  const seen: unknown[] = [];
  const tool = {
    name: "look",
    description: "",
    params_schema: { type: "object" },
    return_schema: null,
  };
  spy.handle("client:get_tools", (request, ack) => {
    seen.push(request);
    ack({ tools: [tool], req_id: Object(request).req_id });
  });
  spy.handle("client:tool_call", (request, ack) => {
    seen.push(request);
    ack({ content: [{ type: "text", text: "seen" }] });
  });
  spy.handle("client:get_config", (request, ack) => {
    seen.push(request);
    ack({ servers: {}, inputs: [] });
  });
  const { as } = await server.token();
  const call = modernRequest("tools/call", {
    name: "spy__look",
    arguments: {},
  });
  const called = await post(server.gateway.url, {
    ...call,
    headers: { ...call.headers, ...as },
  });
  assertStringIncludes(called.body, "seen");
  assertEquals(seen.length >= 2, true);
  const [, token = ""] = as.authorization.split(" ");
  assertEquals(JSON.stringify(seen).includes(token), false);
  assertEquals(JSON.stringify(seen).includes("smcp_at_"), false);
  for (
    const foreign of ["gho_16C7e42F292c6912E7710c838347Ae178B4a", "e30.e30."]
  ) {
    const headers = { ...call.headers, authorization: `Bearer ${foreign}` };
    const refused = await post(server.gateway.url, { ...call, headers });
    assertEquals(refused.status, 401);
  }
});
