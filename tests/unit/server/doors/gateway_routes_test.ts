import type { IncomingMessage } from "node:http";
import { assertEquals } from "@std/assert";
import {
  challenge,
  resourceUrls,
} from "../../../../server/doors/gateway_routes.ts";

const request = (
  headers: IncomingMessage["headers"],
  encrypted = false,
) => ({
  headers,
  socket: { encrypted } as unknown as IncomingMessage["socket"],
});

const resourceOf = (...args: Parameters<typeof resourceUrls>) =>
  resourceUrls(...args)?.resource;

Deno.test("resourceUrls() names the host and the scheme that the client has used", () => {
  const host = { host: "smcp.example.com" };
  const path = "/mcp/my%20office";
  assertEquals(resourceUrls(request(host, true), path, 0), {
    resource: "https://smcp.example.com/mcp/my%20office",
    metadata:
      "https://smcp.example.com/.well-known/oauth-protected-resource/mcp/my%20office",
  });
  assertEquals(
    resourceOf(request({ host: "[::1]:8787" }), "/mcp/a", 0),
    "http://[::1]:8787/mcp/a",
  );
});

Deno.test("resourceUrls() believes X-Forwarded-Proto of a trusted proxy alone", () => {
  const forwarded = request({ host: "h", "x-forwarded-proto": "https" });
  assertEquals(resourceOf(forwarded, "/mcp/a", 0), "http://h/mcp/a");
  assertEquals(resourceOf(forwarded, "/mcp/a", 1), "https://h/mcp/a");
});

Deno.test("resourceUrls() makes nothing of a host that is none", () => {
  for (const host of [undefined, 'x"', "a b", "@", ""]) {
    const headers = host === undefined ? {} : { host };
    assertEquals(resourceUrls(request(headers), "/mcp/a", 0), undefined, host);
  }
});

Deno.test("challenge() says whether credentials were refused, and where the metadata is", () => {
  const urls = { resource: "r", metadata: "m" };
  assertEquals(
    [
      challenge(undefined, false),
      challenge(undefined, true),
      challenge(urls, false),
      challenge(urls, true),
    ],
    [
      "Bearer",
      'Bearer error="invalid_token"',
      'Bearer resource_metadata="m"',
      'Bearer error="invalid_token", resource_metadata="m"',
    ],
  );
});
