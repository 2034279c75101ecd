import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  buildWindowUri,
  parseWindowUri,
} from "../../../protocol/payloads/desktop.ts";

/** Hosts as people write them, and odd ones that are still opaque names. */
const host = fc.oneof(
  fc.constantFrom("com.example.editor", "a", "A.b-c_d~e", "日本", "h:80", "%"),
  fc.string({ minLength: 1 }).filter((text) => /^[\w.-]+$/.test(text)),
);

/** Anything that UTF-8 can hold: slashes, percents, dots, controls, emoji. */
const segment = fc.oneof(
  fc.constantFrom("/", "%", "%2F", "a/b", ".", "..", " ", "?", "#", "é", "\n"),
  fc.string({ minLength: 1, unit: "binary" }),
);

Deno.test("parseWindowUri() reads the examples of the seeds", () => {
  const examples: [text: string, host: string, path: string[]][] = [
    [
      "window://com.example.browser/main/tab1",
      "com.example.browser",
      ["main", "tab1"],
    ],
    ["window://com.example.logger", "com.example.logger", []],
    [
      "window://com.example.editor/src%2Fmain/file%20name",
      "com.example.editor",
      ["src/main", "file name"],
    ],
    ["window://h/c%2Fd", "h", ["c/d"]],
    ["window://h/", "h", []],
    ["window://h/caf%C3%A9/100%25", "h", ["café", "100%"]],
    ["window://h/café", "h", ["café"]],
    ["window://h/./..", "h", [".", ".."]],
    ["WINDOW://Host/Path", "Host", ["Path"]],
  ];
  for (const [text, host, path] of examples) {
    assertEquals(parseWindowUri(text), { uri: { host, path }, warnings: [] });
  }
});

Deno.test("parseWindowUri() drops a query or fragment with a warning each", () => {
  const texts: [text: string, dropped: string[]][] = [
    ["window://h/a?priority=80", ["query"]],
    ["window://h/a?", ["query"]],
    ["window://h/a#top", ["fragment"]],
    ["window://h/a?b=c#d", ["query", "fragment"]],
    ["window://h/a#d?b=c", ["fragment"]],
    ["window://h/a?b/c?d", ["query"]],
  ];
  for (const [text, dropped] of texts) {
    const { uri, warnings } = parseWindowUri(text);
    assertEquals(uri, { host: "h", path: ["a"] }, text);
    assertEquals(
      warnings,
      dropped.map((part) =>
        `A window URI has no ${part}; it is dropped: ${text}`
      ),
      text,
    );
  }
});

Deno.test("parseWindowUri() refuses what is no window URI, and says why", () => {
  const texts: [text: string, why: string][] = [
    ["", "expected window://HOST"],
    ["dpe://h/a", "expected window://HOST"],
    ["https://h/a", "expected window://HOST"],
    ["window:h/a", "expected window://HOST"],
    ["window:/h/a", "expected window://HOST"],
    [" window://h/a", "expected window://HOST"],
    ["windows://h/a", "expected window://HOST"],
    ["window://", "host must not be empty"],
    ["window:///a", "host must not be empty"],
    ["window://?a", "host must not be empty"],
    ["window://a b/c", "cannot be a host"],
    ["window://u@h/c", "cannot be a host"],
    ["window://h\n/c", "cannot be a host"],
    ["window://h//a", "segment must not be empty"],
    ["window://h/a//b", "segment must not be empty"],
    ["window://h/a/", "segment must not be empty"],
    ["window://h/a b", "must be URL-encoded"],
    ["window://h/a\n", "must be URL-encoded"],
    ["window://h/%", "broken URL-encoding"],
    ["window://h/%zz", "broken URL-encoding"],
    ["window://h/%ff", "broken URL-encoding"],
    [`x${"y".repeat(9999)}`, `"x${"y".repeat(79)}…"`],
    ["x".repeat(80), `"${"x".repeat(80)}"`],
  ];
  for (const [text, why] of texts) {
    assertThrows(() => parseWindowUri(text), TypeError, why, text);
  }
});

Deno.test("buildWindowUri() encodes each segment by itself", () => {
  assertEquals(
    buildWindowUri({
      host: "com.example.editor",
      path: ["src/main", "file name"],
    }),
    "window://com.example.editor/src%2Fmain/file%20name",
  );
  assertEquals(buildWindowUri({ host: "h", path: [] }), "window://h");
});

Deno.test("buildWindowUri() refuses what can not be read back", () => {
  const uris: [host: string, path: string[], why: string][] = [
    ["", [], "host must not be empty"],
    ["a/b", [], "cannot be a host"],
    ["a?b", [], "cannot be a host"],
    ["a b", [], "cannot be a host"],
    ["h", [""], "segment must not be empty"],
    ["h", ["a", "", "b"], "segment must not be empty"],
    ["h", ["\ud800"], "half a character"],
  ];
  for (const [host, path, why] of uris) {
    assertThrows(() => buildWindowUri({ host, path }), TypeError, why);
  }
});

Deno.test("window URIs survive being built and parsed, whatever their segments hold", () => {
  fc.assert(
    fc.property(host, fc.array(segment), (host, path) => {
      const text = buildWindowUri({ host, path });
      assertEquals(parseWindowUri(text), { uri: { host, path }, warnings: [] });
      assertEquals(buildWindowUri(parseWindowUri(text).uri), text);
    }),
  );
});

Deno.test("parseWindowUri() gives a URI or a TypeError for any text at all", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "binary" }).map((rest) => `window://${rest}`),
    fc.string().map((rest) => `window://h/${rest}`),
  );
  fc.assert(
    fc.property(text, (text) => {
      try {
        const { uri } = parseWindowUri(text);
        assertEquals(parseWindowUri(buildWindowUri(uri)).uri, uri);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }),
  );
});
