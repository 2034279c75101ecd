import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  answerConsole,
  COMPUTER_PAGE,
  SERVER_PAGE,
} from "../../../console/mod.ts";

const get = (part?: string, method = "GET", ifNoneMatch?: string) =>
  answerConsole(SERVER_PAGE, {
    method,
    ...(part !== undefined && { part }),
    ifNoneMatch,
  });

Deno.test("a page names its parts relative to itself, and runs no code in itself", async () => {
  for (const page of [SERVER_PAGE, COMPUTER_PAGE]) {
    const answer = answerConsole(page, { method: "GET" });
    assertEquals(
      answer.headers.get("content-type"),
      "text/html; charset=utf-8",
    );
    const text = await answer.text();
    assertStringIncludes(text, `src="console/${page.script}"`);
    for (const [, to = ""] of text.matchAll(/(?:src|href)="([^"]*)"/g)) {
      assert(to.startsWith("console/"), to);
    }
    assert(!/<script(?![^>]*src=)|<style|\son\w+=|style="/.test(text));
  }
});

Deno.test("a part is one of a list, whatever a name asks for", () => {
  assertEquals(get("style/parts.css").status, 200);
  const foreign = [
    "",
    "/",
    "../mod.ts",
    "style/../server.js",
    "style%2fparts.css",
  ]
    .concat("__proto__", "constructor", "toString", "style\\parts.css", "x\0");
  for (const part of foreign) assertEquals(get(part).status, 404, part);
});

Deno.test("each answer has the policy of the page, and may not be kept unasked", () => {
  for (
    const answer of [
      get(),
      get("server.js"),
      get("none"),
      get(undefined, "PUT"),
    ]
  ) {
    const policy = answer.headers.get("content-security-policy") ?? "";
    for (
      const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]
    ) {
      assertStringIncludes(policy, rule);
    }
    assert(!policy.includes("unsafe"));
    assertEquals(answer.headers.get("referrer-policy"), "no-referrer");
    assertEquals(answer.headers.get("x-content-type-options"), "nosniff");
    assertEquals(answer.headers.get("cache-control"), "no-cache");
  }
});

Deno.test("what a browser has already is not sent again", async () => {
  const etag = get("server.js").headers.get("etag") ?? "";
  for (const known of [etag, `W/${etag}`, `"a", ${etag}`]) {
    const answer = get("server.js", "GET", known);
    assertEquals([answer.status, await answer.text()], [304, ""]);
  }
  assertEquals(get("server.js", "GET", '"a"').status, 200);
});

Deno.test("a HEAD has the headers of a GET; other methods are refused", async () => {
  const head = get("server.js", "HEAD");
  assertEquals([head.status, await head.text()], [200, ""]);
  assertEquals(head.headers.get("etag"), get("server.js").headers.get("etag"));
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
    const answer = get(undefined, method);
    assertEquals([answer.status, answer.headers.get("allow")], [
      405,
      "GET, HEAD",
    ]);
  }
});
