import { assertEquals } from "@std/assert";
import { checkHeaders } from "../../../mcp/http/guards.ts";

const refused = (
  headers: Record<string, string>,
  rule: Partial<Parameters<typeof checkHeaders>[1]> = {},
) =>
  checkHeaders(new Headers(headers), { hosts: [], origins: [], ...rule })
    ?.message;

Deno.test("checkHeaders() lets in this machine's names, and requests without any", () => {
  const hosts = [
    ...["localhost", "localhost:8787", "127.0.0.1:1", "127.1.2.3"],
    ...["[::1]:8787", "office.localhost", "LOCALHOST:80", "localhost.:80"],
  ];
  for (const host of hosts) assertEquals(refused({ host }), undefined, host);
  assertEquals(refused({}), undefined);
});

Deno.test("checkHeaders() refuses names that others may point to this machine", () => {
  const hosts = [
    ...["evil.example", "evil.example:8787", "127.0.0.1.evil.example"],
    ...["10.0.0.1", "localhost.evil.example", "", "a b", "[::2]"],
  ];
  for (const host of hosts) {
    assertEquals(refused({ host }), "Host not allowed", host);
  }
  const hosts2 = { hosts: ["smcp.example.com"] };
  assertEquals(refused({ host: "smcp.example.com:443" }, hosts2), undefined);
  assertEquals(refused({ host: "x.example.com" }, hosts2), "Host not allowed");
  assertEquals(refused({ host: "evil.example" }, { hosts: "*" }), undefined);
});

Deno.test("checkHeaders() refuses pages of other origins than its own and those named", () => {
  const host = "localhost:8787";
  assertEquals(refused({ host, origin: `http://${host}` }), undefined);
  const foreign = [
    ...["https://evil.example", "http://localhost:3000", "null"],
    ...["http://localhost:8787.evil.example", "http://null"],
  ];
  for (const origin of foreign) {
    assertEquals(refused({ host, origin }), "Origin not allowed", origin);
    assertEquals(refused({ origin }), "Origin not allowed", origin);
    assertEquals(refused({ host, origin }, { origins: "*" }), undefined);
    const own = { host: "evil.example", origin: "http://evil.example" };
    assertEquals(refused(own, { hosts: "*" }), "Origin not allowed");
  }
  const origins = ["https://app.example"];
  const page = { host, origin: "https://app.example" };
  assertEquals(refused(page, { origins }), undefined);
});
