import fc from "fast-check";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  buildFinderUri,
  type FinderQuery,
  type FinderTarget,
  type FinderUri,
  parseFinderUri,
} from "../../../protocol/payloads/finder.ts";

const host = fc.constantFrom("com.example.docs", "a", "日本");
const name = fc.oneof(
  fc.constantFrom("pages", "elements", "a/b", "%", "?", ",", "&", "="),
  fc.string({ minLength: 1, unit: "binary" }),
);
const category = name.filter((text) => !text.includes(","));

const target: fc.Arbitrary<FinderTarget> = fc.oneof(
  fc.constant({ kind: "catalogue" as const }),
  fc.record({ kind: fc.constant("document" as const), doc: name }),
  fc.record({
    kind: fc.constant("page" as const),
    doc: name,
    page: fc.maxSafeNat(),
  }),
  fc.record({
    kind: fc.constant("element" as const),
    doc: name,
    element: name,
  }),
);

const query: fc.Arbitrary<FinderQuery> = fc.record({
  format: name,
  depth: fc.maxSafeNat(),
  offset: fc.maxSafeNat(),
  limit: fc.integer({ min: 1 }),
  categories: fc.array(category),
}, { requiredKeys: [] });

const finderUri: fc.Arbitrary<FinderUri> = fc.tuple(host, target, query)
  .map(([host, target, query]) => ({ host, ...target, query }));

/** Asserts 4204 with a reason. */
function assertInvalid(run: () => unknown, why: string, at: string): void {
  const { code, fields } = assertThrows(run, ProtocolError, "", at);
  assertEquals(code, 4204, at);
  assertStringIncludes(String(fields.reason), why);
}

Deno.test("parseFinderUri() reads the four addresses of the 0.2 draft", () => {
  const examples: [text: string, uri: FinderUri][] = [
    ["dpe://h", { host: "h", kind: "catalogue", query: {} }],
    ["dpe://h/", { host: "h", kind: "catalogue", query: {} }],
    ["dpe://h/doc", { host: "h", kind: "document", doc: "doc", query: {} }],
    ["dpe://h/a%2Fb", { host: "h", kind: "document", doc: "a/b", query: {} }],
    ["dpe://h/doc/pages/0", {
      host: "h",
      kind: "page",
      doc: "doc",
      page: 0,
      query: {},
    }],
    ["dpe://h/doc/elements/e%201", {
      host: "h",
      kind: "element",
      doc: "doc",
      element: "e 1",
      query: {},
    }],
  ];
  for (const [text, uri] of examples) {
    assertEquals(parseFinderUri(text), uri, text);
  }
});

Deno.test("parseFinderUri() reads format, depth, offset, limit and categories, and ignores the rest", () => {
  assertEquals(
    parseFinderUri(
      "dpe://h/d?format=markdown&depth=0&offset=10&limit=5&categories=table,text&later=1",
    ).query,
    {
      format: "markdown",
      depth: 0,
      offset: 10,
      limit: 5,
      categories: ["table", "text"],
    },
  );
  assertEquals(parseFinderUri("dpe://h/d?categories=").query, {
    categories: [],
  });
});

Deno.test("parseFinderUri() refuses anything else as 4204 with uri and reason", () => {
  const texts: [text: string, why: string][] = [
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
  for (const [text, why] of texts) {
    assertInvalid(() => parseFinderUri(text), why, text);
    const { fields } = assertThrows(() => parseFinderUri(text), ProtocolError);
    assertEquals(fields.uri, text);
  }
});

Deno.test("buildFinderUri() refuses what can not be read back as 4204", () => {
  const h = { host: "h", query: {} };
  const uris: [uri: FinderUri, why: string][] = [
    [{ ...h, host: "", kind: "catalogue" }, "host must not be empty"],
    [{ ...h, kind: "document", doc: "" }, "segment must not be empty"],
    [{ ...h, kind: "page", doc: "d", page: -1 }, "page must be"],
    [{ ...h, kind: "page", doc: "d", page: 0.5 }, "page must be"],
    [{ ...h, kind: "page", doc: "d", page: 1e21 }, "page must be"],
    [{ ...h, kind: "element", doc: "d", element: "\ud800" }, "half a char"],
    [{ host: "h", kind: "catalogue", query: { limit: 0 } }, "limit must be"],
    [
      { host: "h", kind: "catalogue", query: { categories: ["a,b"] } },
      "category",
    ],
    [{ host: "h", kind: "catalogue", query: { categories: [""] } }, "category"],
  ];
  for (const [uri, why] of uris) {
    assertInvalid(() => buildFinderUri(uri), why, JSON.stringify(uri));
  }
});

Deno.test("Finder URIs survive being built and parsed, whatever their parts hold", () => {
  fc.assert(
    fc.property(finderUri, (uri) => {
      const text = buildFinderUri(uri);
      assertEquals(parseFinderUri(text), uri);
      assertEquals(buildFinderUri(parseFinderUri(text)), text);
    }),
  );
});
