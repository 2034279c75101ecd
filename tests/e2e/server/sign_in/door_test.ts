import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { GATEWAY_KEYS } from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  modernRequest,
  post,
} from "../../../support/mcp/post.ts";
import {
  bearer,
  SignedInServer,
} from "../../../support/server/signed_in_server.ts";

const LIST = modernRequest("tools/list");

Deno.test("a Server with a sign-in asks for a token at each path of its gateway, whatever the method", async () => {
  await using server = await SignedInServer.start();
  for (const path of ["/mcp/north", "/mcp", "/mcp/", "/mcp/other%20one"]) {
    for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
      const body = method === "POST" ? INITIALIZE : "";
      const none = await post(server.url + path, { method, body });
      assertEquals(none.status, 401, `${method} ${path}`);
      const metadata = `${server.url}/.well-known/oauth-protected-resource${
        path.replace(/\/$/, "")
      }`;
      assertEquals(
        none.headers["www-authenticate"],
        `Bearer resource_metadata="${metadata}", scope="office"`,
      );
      const wrong = await post(server.url + path, {
        method,
        body,
        headers: bearer("nonsense"),
      });
      assertEquals(wrong.status, 401);
      assertEquals(
        wrong.headers["www-authenticate"],
        `Bearer error="invalid_token", resource_metadata="${metadata}", scope="office"`,
      );
      const described = await (await fetch(metadata)).json();
      assertEquals(described.resource, server.url + path.replace(/\/$/, ""));
      assertEquals(described.authorization_servers, [server.url]);
    }
  }
});

Deno.test("a Server with a sign-in serves its token at the office, and keys beside it", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token();
  const url = server.gateway.url;
  for (const headers of [as, { "x-api-key": GATEWAY_KEYS.bob }]) {
    const listed = await post(url, {
      ...LIST,
      headers: { ...LIST.headers, ...headers },
    });
    assertEquals(listed.status, 200, listed.body);
    assertStringIncludes(listed.body, "pc__echo");
  }
});

Deno.test("a token for the gateway's path has its office in it; a key there gets a hint", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token({ office: "north" }, "/mcp");
  for (const path of ["/mcp", "/mcp/", "/mcp?tools=all"]) {
    const listed = await post(server.url + path, {
      ...LIST,
      headers: { ...LIST.headers, ...as },
    });
    assertEquals(listed.status, 200, listed.body);
    assertStringIncludes(listed.body, "pc__echo");
  }
  const hinted = await post(`${server.url}/mcp`, {
    ...LIST,
    headers: { ...LIST.headers, "x-api-key": GATEWAY_KEYS.ann },
  });
  assertEquals(hinted.status, 404);
  assertMatch(hinted.body, /name the office, as in \/mcp\/OFFICE/);
});
