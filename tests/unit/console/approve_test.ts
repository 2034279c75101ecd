import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { join } from "node:path";
import { serverAddress } from "../../../computer/cli/approve/write_page.ts";
import { answerApprove, approveFolder } from "../../../console/approve.ts";
import { APPROVE_PARTS } from "../../../console/approve_assets.ts";
import {
  APPROVE_MODULE,
  approveModule,
} from "../../../tools/console/assets.ts";
import { runHere } from "../../support/command.ts";

const get = (part?: string, method = "GET", ifNoneMatch?: string) =>
  answerApprove({
    method,
    ...(part !== undefined && { part }),
    ifNoneMatch,
  });

/** What script, style and document together may take on their way, as gzip. */
const MAX_BYTES = 15_000;

Deno.test("the parts of the page are those of their sources (deno task build:console)", async () => {
  assertEquals(await Deno.readTextFile(APPROVE_MODULE), await approveModule());
});

Deno.test(`the page for devices has at most ${MAX_BYTES} bytes as gzip`, async () => {
  let sum = 0;
  for (const part of [undefined, "approve.js", "approve.css"]) {
    const body = (await get(part).blob()).stream()
      .pipeThrough(new CompressionStream("gzip"));
    sum += (await new Response(body).arrayBuffer()).byteLength;
  }
  assert(sum > 5000 && sum <= MAX_BYTES, String(sum));
});

Deno.test("threat 35: no answer of the page may be framed, or runs anything but its own script", () => {
  for (const part of [undefined, "approve.js", "sw.js", "none"]) {
    const { headers } = get(part);
    const policy = headers.get("content-security-policy") ?? "";
    for (
      const rule of [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
      ]
    ) assertStringIncludes(policy, rule);
    assert(!policy.includes("unsafe"));
    assertEquals(headers.get("referrer-policy"), "no-referrer");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("cross-origin-opener-policy"), "same-origin");
    assertEquals(headers.get("cache-control"), "no-cache");
  }
});

Deno.test("the page names its parts relative to itself, and each is served", async () => {
  const text = await get().text();
  const links = [...text.matchAll(/(?:src|href)="([^"]*)"/g)];
  assertEquals(links.length, 4);
  for (const [, to = ""] of links) {
    assert(to.startsWith("approve/"), to);
    assertEquals(get(to.slice("approve/".length)).status, 200, to);
  }
  assert(!/<script(?![^>]*src=)|<style|\son\w+=|style="/.test(text));
  const manifest = await get("manifest.webmanifest").json();
  assertEquals(manifest.start_url, "../approve");
  for (const part of ["", "v1", "../mod.ts", "__proto__", "index.html"]) {
    assertEquals(get(part).status, 404, part);
  }
  assertEquals(get(undefined, "POST").status, 405);
  const etag = get("sw.js").headers.get("etag") ?? "";
  assertEquals(get("sw.js", "GET", etag).status, 304);
});

Deno.test("the page loads nothing from elsewhere, and makes no markup of text", () => {
  for (const [name, text] of Object.entries(APPROVE_PARTS)) {
    const markup =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|importScripts/;
    assert(!markup.test(text), `${name} makes markup`);
    assert(!/\bimport\s*[("{*]|\bfrom\s*"|url\(["']?http/.test(text), name);
  }
});

Deno.test("a folder has the policy in its document, for one Server", () => {
  const { "index.html": text = "", ...parts } = approveFolder(
    "https://smcp.example/a/",
  );
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(text)?.[1];
  assertEquals(
    policy?.split("; ").filter((rule) => rule.startsWith("connect-src")),
    ["connect-src https://smcp.example/a/approve/v1/"],
  );
  assertStringIncludes(policy ?? "", "default-src 'none'");
  for (const [, to = ""] of text.matchAll(/(?:src|href)="([^"]*)"/g)) {
    assert(Object.hasOwn(parts, to), to);
  }
});

Deno.test("approve-page refuses what a phone could not use, or what a policy cannot name", () => {
  for (const address of ["http://smcp.example", "http://192.168.1.2:8000"]) {
    assertThrows(() => serverAddress(address), Error, "without https");
  }
  const odd = [
    "",
    "smcp.example",
    "ftp://smcp.example",
    "https://smcp.example/?a=b",
    "https://smcp.example/#a",
    "https://u:p@smcp.example",
    "https://smcp.example/a;script-src *",
    "https://smcp.example/a,b",
    'https://smcp.example/"><script>',
  ];
  for (const address of odd) {
    assertThrows(() => serverAddress(address), Error, "--url: expected");
  }
  assertEquals(serverAddress("https://smcp.example/"), "https://smcp.example");
  assertEquals(
    serverAddress("http://localhost:8000"),
    "http://localhost:8000",
  );
});

Deno.test("approve-page writes into a new or empty folder alone", async () => {
  const folder = await Deno.makeTempDir({ prefix: "smcp-approve-" });
  try {
    const site = join(folder, "a", "site");
    const url = "https://smcp.example";
    const write = (folder: string) =>
      runHere("computer", ["approve-page", folder, "--url", url]);
    const { code, stdout } = await write(site);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "pair --page https://HOST/");
    const names = (await Array.fromAsync(Deno.readDir(site)))
      .map(({ name }) => name).toSorted();
    assertEquals(names, Object.keys(approveFolder(url)).toSorted());
    const again = await write(site);
    assertEquals(again.code, 1);
    assertStringIncludes(again.stderr, "is not empty");
    const file = await write(join(site, "index.html"));
    assertStringIncludes(file.stderr, "is a file");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
