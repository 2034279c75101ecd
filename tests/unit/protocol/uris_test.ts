/** The URIs of windows, documents and the Finder: read, built, and refused with the reason. */
import {
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  buildWindowUri,
  parseWindowUri,
} from "../../../protocol/payloads/desktop.ts";
import {
  buildDpeUri,
  docRefOf,
  parseDpeUri,
  parseListedDpeUri,
} from "../../../protocol/payloads/documents.ts";
import {
  buildFinderUri,
  type FinderUri,
  parseFinderUri,
} from "../../../protocol/payloads/finder.ts";

/** Hosts as people write them, and odd ones that are still opaque names. */
const host = fc.oneof(
  fc.constantFrom("com.example.editor", "a", "A.b-c_d~e", "日本", "h:80", "%"),
  fc.string({ minLength: 1 }).filter((text) => /^[\w.-]+$/.test(text)),
);

/** Anything that UTF-8 can hold: slashes, percents, dots, controls, emoji. */
const segment = fc.oneof(
  fc.constantFrom("/", "%", "%2F", "a/b", ".", "..", " ", "?", "#", "é", "\n"),
  fc.constantFrom("pages", "elements", "0", ",", "&", "="),
  fc.string({ minLength: 1, unit: "binary" }),
);
const docRef = fc.array(segment, { minLength: 1 });

const query = fc.record({
  format: segment,
  depth: fc.maxSafeNat(),
  offset: fc.maxSafeNat(),
  limit: fc.integer({ min: 1 }),
  categories: fc.array(segment.filter((text) => !text.includes(","))),
}, { requiredKeys: [] });

const kind = <K extends string>(kind: K) => fc.constant(kind);
const finderUri: fc.Arbitrary<FinderUri> = fc.tuple(
  fc.record({ host, query }),
  fc.oneof(
    fc.record({ kind: kind("catalogue") }),
    fc.record({ kind: kind("document"), doc: segment }),
    fc.record({ kind: kind("page"), doc: segment, page: fc.maxSafeNat() }),
    fc.record({ kind: kind("element"), doc: segment, element: segment }),
  ),
).map(([common, target]) => ({ ...common, ...target }));

/** Any text, or one that begins as a URI. */
const textLike = (scheme: string) =>
  fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "binary" }).map((rest) => `${scheme}://${rest}`),
    fc.string().map((rest) => `${scheme}://h/${rest}`),
  );

/** Asserts that it is refused as a code with a reason, and with the URI that was read. */
function assertInvalid(
  code: number,
  run: () => unknown,
  why: string,
  uri?: string,
) {
  const error = assertThrows(run, ProtocolError, "", uri);
  assertEquals(error.code, code, uri);
  assertStringIncludes(String(error.fields.reason), why);
  assertMatch(error.message, /^Invalid (?:(?!Invalid).)*$/);
  if (uri !== undefined) assertEquals(error.fields.uri, uri);
}

Deno.test("parseWindowUri() reads the examples of the seeds", () => {
  const browser = "com.example.browser";
  const rows: [text: string, host: string, path: string[]][] = [
    [`window://${browser}/main/tab1`, browser, ["main", "tab1"]],
    ["window://com.example.logger", "com.example.logger", []],
    ["window://e/src%2Fmain/file%20name", "e", ["src/main", "file name"]],
    ["window://h/c%2Fd", "h", ["c/d"]],
    ["window://h/", "h", []],
    ["window://h/caf%C3%A9/100%25", "h", ["café", "100%"]],
    ["window://h/café", "h", ["café"]],
    ["window://h/./..", "h", [".", ".."]],
    ["WINDOW://Host/Path", "Host", ["Path"]],
  ];
  for (const [text, host, path] of rows) {
    assertEquals(parseWindowUri(text), { uri: { host, path }, warnings: [] });
  }
});

Deno.test("parseWindowUri() drops a query or fragment with a warning each", () => {
  const rows: [text: string, ...dropped: string[]][] = [
    ["window://h/a?priority=80", "query"],
    ["window://h/a?", "query"],
    ["window://h/a#top", "fragment"],
    ["window://h/a?b=c#d", "query", "fragment"],
    ["window://h/a#d?b=c", "fragment"],
    ["window://h/a?b/c?d", "query"],
  ];
  for (const [text, ...dropped] of rows) {
    const warnings = dropped.map((part) =>
      `A window URI has no ${part}; it is dropped: ${text}`
    );
    const uri = { host: "h", path: ["a"] };
    assertEquals(parseWindowUri(text), { uri, warnings });
  }
});

Deno.test("parseWindowUri() refuses what is no window URI, and says why", () => {
  const rows: [text: string, why: string][] = [
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
  for (const [text, why] of rows) {
    assertThrows(() => parseWindowUri(text), TypeError, why, text);
  }
});

Deno.test("buildWindowUri() encodes each segment by itself", () => {
  const path = ["src/main", "file name"];
  const text = "window://com.example.editor/src%2Fmain/file%20name";
  assertEquals(buildWindowUri({ host: "com.example.editor", path }), text);
  assertEquals(buildWindowUri({ host: "h", path: [] }), "window://h");
});

Deno.test("buildWindowUri() and buildDpeUri() refuse parts that cannot be read back", () => {
  const rows: [host: string, path: string[], why: string][] = [
    ["", ["a"], "host must not be empty"],
    ["a/b", ["c"], "cannot be a host"],
    ["a?b", ["c"], "cannot be a host"],
    ["a b", ["c"], "cannot be a host"],
    ["h", [""], "segment must not be empty"],
    ["h", ["a", "", "b"], "segment must not be empty"],
    ["h", ["\ud800"], "half a character"],
    ["h", ["\udc00"], "half a character"],
  ];
  for (const [host, path, why] of rows) {
    assertThrows(() => buildWindowUri({ host, path }), TypeError, why);
    assertInvalid(4012, () => buildDpeUri({ host, docRef: path }), why);
  }
  const none = () => buildDpeUri({ host: "h", docRef: [] });
  assertInvalid(4012, none, "document reference");
});

Deno.test("window URIs survive being built and parsed, whatever their segments hold", () => {
  fc.assert(
    fc.property(host, fc.array(segment), (host, path) => {
      const text = buildWindowUri({ host, path });
      assertEquals(parseWindowUri(text), { uri: { host, path }, warnings: [] });
    }),
  );
});

Deno.test("parseDpeUri() reads host and document reference", () => {
  const rows: [text: string, host: string, docRef: string[]][] = [
    ["dpe://host/doc-1", "host", ["doc-1"]],
    ["dpe://com.example/2026/q1/r", "com.example", ["2026", "q1", "r"]],
    ["dpe://host/c%2Fd/caf%C3%A9", "host", ["c/d", "café"]],
    ["dpe://host/doc/pages/3", "host", ["doc", "pages", "3"]],
    ["DPE://Host/Doc", "Host", ["Doc"]],
  ];
  for (const [text, host, docRef] of rows) {
    const uri = { host, docRef };
    assertEquals(parseDpeUri(text), uri);
    assertEquals(parseListedDpeUri(text), { uri, warnings: [] });
  }
});

Deno.test("parseDpeUri() and parseListedDpeUri() refuse anything else as 4012 with uri and reason", () => {
  const rows: [text: string, why: string][] = [
    ["", "expected dpe://HOST"],
    ["window://h/doc", "expected dpe://HOST"],
    ["https://h/doc", "expected dpe://HOST"],
    ["dpe:h/doc", "expected dpe://HOST"],
    [" dpe://h/doc", "expected dpe://HOST"],
    ["dpe://", "host must not be empty"],
    ["dpe:///doc", "host must not be empty"],
    ["dpe://host", "document reference"],
    ["dpe://host/", "document reference"],
    ["dpe://host//", "segment must not be empty"],
    ["dpe://host/a//b", "segment must not be empty"],
    ["dpe://host/a/", "segment must not be empty"],
    ["dpe://ho st/a", "cannot be a host"],
    ["dpe://host/a b", "must be URL-encoded"],
    ["dpe://host/%E0%A4%A", "broken URL-encoding"],
  ];
  for (const [text, why] of rows) {
    assertInvalid(4012, () => parseDpeUri(text), why, text);
    assertInvalid(4012, () => parseListedDpeUri(text), why, text);
  }
});

Deno.test("parseDpeUri() refuses a query or fragment as 4012", () => {
  for (
    const [text, part] of [
      ["dpe://h/d?a=b", "query"],
      ["dpe://h/d?", "query"],
      ["dpe://h/d#p2", "fragment"],
    ] as const
  ) assertInvalid(4012, () => parseDpeUri(text), part, text);
});

Deno.test("parseListedDpeUri() drops a query or fragment with a warning each", () => {
  const text = "dpe://h/d?a=b#p2";
  assertEquals(parseListedDpeUri(text), {
    uri: { host: "h", docRef: ["d"] },
    warnings: [
      `A DPE URI has no query; it is dropped: ${text}`,
      `A DPE URI has no fragment; it is dropped: ${text}`,
    ],
  });
});

Deno.test("DPE URIs survive being built and parsed, whatever their segments hold", () => {
  fc.assert(
    fc.property(host, docRef, (host, docRef) => {
      const uri = { host, docRef };
      const text = buildDpeUri(uri);
      assertEquals(parseDpeUri(text), uri);
      assertEquals(text, `dpe://${host}/${docRefOf(uri)}`);
    }),
  );
});

Deno.test("parseWindowUri() and parseDpeUri() give a URI, or their error, for any text at all", () => {
  fc.assert(
    fc.property(textLike("window"), (text) => {
      try {
        const { uri } = parseWindowUri(text);
        assertEquals(parseWindowUri(buildWindowUri(uri)).uri, uri);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }),
  );
  fc.assert(
    fc.property(textLike("dpe"), (text) => {
      try {
        const uri = parseDpeUri(text);
        assertEquals(parseDpeUri(buildDpeUri(uri)), uri);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        assertEquals(error.code, 4012);
      }
    }),
  );
});

Deno.test("parseFinderUri() reads the four addresses of the 0.2 draft", () => {
  const h = { host: "h", query: {} };
  const rows: [text: string, uri: FinderUri][] = [
    ["dpe://h", { ...h, kind: "catalogue" }],
    ["dpe://h/", { ...h, kind: "catalogue" }],
    ["dpe://h/doc", { ...h, kind: "document", doc: "doc" }],
    ["dpe://h/a%2Fb", { ...h, kind: "document", doc: "a/b" }],
    ["dpe://h/d/pages/0", { ...h, kind: "page", doc: "d", page: 0 }],
    [
      "dpe://h/d/elements/e%201",
      { ...h, kind: "element", doc: "d", element: "e 1" },
    ],
  ];
  for (const [text, uri] of rows) assertEquals(parseFinderUri(text), uri, text);
});

Deno.test("parseFinderUri() reads format, depth, offset, limit and categories, and ignores the rest", () => {
  const text =
    "dpe://h/d?format=markdown&depth=0&offset=10&limit=5&categories=table,text&later=1";
  assertEquals(parseFinderUri(text).query, {
    format: "markdown",
    depth: 0,
    offset: 10,
    limit: 5,
    categories: ["table", "text"],
  });
  const none = parseFinderUri("dpe://h/d?categories=").query;
  assertEquals(none, { categories: [] });
});

Deno.test("parseFinderUri() refuses anything else as 4204 with uri and reason", () => {
  const rows: [text: string, why: string][] = [
    ["", "expected dpe://HOST"],
    ["window://h/doc", "expected dpe://HOST"],
    ["dpe://", "host must not be empty"],
    ["dpe://h//pages/1", "segment must not be empty"],
    ["dpe://h/doc/pages", "expected dpe://HOST, /DOC"],
    ["dpe://h/doc/elements", "expected dpe://HOST, /DOC"],
    ["dpe://h/doc/chapters/1", "expected dpe://HOST, /DOC"],
    ["dpe://h/doc/pages/1/2", "expected dpe://HOST, /DOC"],
    ["dpe://h/doc/pages/one", "page must be a whole number"],
    ["dpe://h/doc/pages/-1", "page must be a whole number"],
    ["dpe://h/doc/pages/1.5", "page must be a whole number"],
    ["dpe://h/doc/pages/9007199254740993", "page must be a whole number"],
    ["dpe://h/doc?depth=-1", "depth must be a whole number"],
    ["dpe://h/doc?offset=x", "offset must be a whole number"],
    ["dpe://h/doc?limit=0", "limit must be a whole number of at least 1"],
    ["dpe://h/doc?limit=", "limit must be a whole number"],
  ];
  for (const [text, why] of rows) {
    assertInvalid(4204, () => parseFinderUri(text), why, text);
  }
});

Deno.test("buildFinderUri() refuses parts that cannot be read back, with 4204", () => {
  const h = { host: "h", query: {} };
  const all = { host: "h", kind: "catalogue" as const };
  const rows: [uri: FinderUri, why: string][] = [
    [{ ...all, query: {}, host: "" }, "host must not be empty"],
    [{ ...h, kind: "document", doc: "" }, "segment must not be empty"],
    [{ ...h, kind: "page", doc: "d", page: -1 }, "page must be"],
    [{ ...h, kind: "page", doc: "d", page: 0.5 }, "page must be"],
    [{ ...h, kind: "page", doc: "d", page: 1e21 }, "page must be"],
    [{ ...h, kind: "element", doc: "d", element: "\ud800" }, "half a char"],
    [{ ...all, query: { limit: 0 } }, "limit must be"],
    [{ ...all, query: { categories: ["a,b"] } }, "category"],
    [{ ...all, query: { categories: [""] } }, "category"],
  ];
  for (const [uri, why] of rows) {
    assertInvalid(4204, () => buildFinderUri(uri), why);
  }
});

Deno.test("Finder URIs survive being built and parsed, whatever their parts hold", () => {
  fc.assert(
    fc.property(finderUri, (uri) => {
      const text = buildFinderUri(uri);
      assertEquals(parseFinderUri(text), uri);
    }),
  );
});
