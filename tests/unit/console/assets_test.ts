import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  COMMON_PARTS,
  COMPUTER_PARTS,
  SERVER_PARTS,
} from "../../../console/assets.ts";
import {
  answerConsole,
  COMPUTER_PAGE,
  SERVER_PAGE,
} from "../../../console/mod.ts";
import { ASSETS_MODULE, assetsModule } from "../../../tools/console/assets.ts";

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

const ASSETS = { ...COMMON_PARTS, ...SERVER_PARTS, ...COMPUTER_PARTS };

/** What all parts of the pages together may take on their way, as gzip. */
const MAX_BYTES = 35_000;

Deno.test("the parts of the pages are those of their sources (deno task build:console)", async () => {
  assertEquals(await Deno.readTextFile(ASSETS_MODULE), await assetsModule());
});

Deno.test(`all parts of the pages together have less than ${MAX_BYTES} bytes`, async () => {
  const all = new Blob(Object.values(ASSETS)).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(all).arrayBuffer();
  assert(byteLength > 5000 && byteLength < MAX_BYTES, String(byteLength));
});

Deno.test("the pages load nothing from elsewhere, and make no markup of text", () => {
  for (const [name, text] of Object.entries(ASSETS)) {
    for (const [, from = ""] of text.matchAll(/\bfrom\s*"([^"]+)"/g)) {
      assert(/^\.{1,2}\//.test(from), `${name} imports ${from}`);
      const path = new URL(from, `http://x/${name}`).pathname.slice(1);
      assert(Object.hasOwn(ASSETS, path), `${name} imports ${from}`);
    }
    const markup =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/;
    assert(!markup.test(text), `${name} makes markup`);
    assert(!/@import url|url\(["']?http/.test(text), name);
  }
});
