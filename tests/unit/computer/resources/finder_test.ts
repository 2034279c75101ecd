import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  documentSummary,
  type FinderQuery,
  type ListedDocument,
  organizeFinder,
} from "../../../../computer/resources/finder.ts";
import { parseGetFinderRet } from "../../../../protocol/payloads/finder.ts";
import type { Resource } from "../../../../protocol/mod.ts";

const document = (
  server: string,
  uri: string,
  over: Partial<Resource> = {},
): ListedDocument => ({ server, resource: { uri, ...over } });

const dated = (lastModified: unknown) => ({ annotations: { lastModified } });

const found = (
  documents: ListedDocument[],
  query: FinderQuery = {},
  history: string[] = [],
): string[] =>
  organizeFinder(documents, query, history).documents
    .map(({ doc_ref }) => doc_ref);

Deno.test("documentSummary() reads every field from its place in the resource", () => {
  const { summary, warnings } = documentSummary("docs", {
    uri: "dpe://h/a%2Fb/c",
    name: "report.pdf",
    title: "The report",
    description: "What happened",
    annotations: { lastModified: "2026-01-15T08:30:00Z" },
    _meta: {
      file_uri: "file:///r.pdf",
      file_type: "pdf",
      page_count: 12,
      keywords: ["year", 7, "end"],
    },
  });
  assertEquals(summary, {
    doc_ref: "a%2Fb/c",
    uri: "dpe://h/a%2Fb/c",
    file_uri: "file:///r.pdf",
    file_type: "pdf",
    title: "The report",
    page_count: 12,
    keywords: ["year", "end"],
    summary: "What happened",
    server: "docs",
    last_modified: "2026-01-15T08:30:00Z",
  });
  assertEquals(warnings, []);
});

Deno.test("documentSummary() fills in missing fields", () => {
  assertEquals(documentSummary("s", { uri: "dpe://h/d", name: "n" }).summary, {
    doc_ref: "d",
    uri: "dpe://h/d",
    file_uri: "",
    file_type: "",
    title: "n",
    page_count: 0,
    server: "s",
  });
  assertEquals(documentSummary("s", { uri: "dpe://h/d" }).summary.title, "d");
});

Deno.test("documentSummary() treats an invalid page_count as unknown", () => {
  for (const page_count of [0, -1, 1.5, "3", true, [], 2 ** 60]) {
    const { summary, warnings } = documentSummary("s", {
      uri: "dpe://h/d",
      _meta: { page_count },
    });
    assertEquals(summary.page_count, 0);
    assertEquals(warnings.length, 1);
  }
  assertEquals(
    documentSummary("s", { uri: "dpe://h/d", _meta: { page_count: null } })
      .warnings,
    [],
  );
});

Deno.test("organizeFinder() skips invalid documents, and drops a query, with warnings", () => {
  const { documents, total_count, warnings } = organizeFinder(
    [
      document("s", "dpe://h"),
      document("s", "dpe:///x"),
      document("s", "dpe://h/a?x=1"),
    ],
    {},
    [],
  );
  assertEquals(documents.map(({ uri }) => uri), ["dpe://h/a"]);
  assertEquals(total_count, 1);
  assertEquals(warnings.length, 3);
  assertStringIncludes(warnings.join("\n"), "left out");
});

Deno.test("organizeFinder() finds any keyword in title, keywords or summary, ignoring case", () => {
  const documents = [
    document("s", "dpe://h/title", { title: "Annual REPORT" }),
    document("s", "dpe://h/summary", { description: "a report of it" }),
    document("s", "dpe://h/keywords", { _meta: { keywords: ["RePorting"] } }),
    document("s", "dpe://h/other", { title: "Menu" }),
    document("s", "dpe://h/report-in-uri", { title: "x" }),
  ];
  const all = ["title", "summary", "keywords"];
  assertEquals(found(documents, { keywords: ["report"] }), all);
  assertEquals(found(documents, { keywords: ["MENU", "nothing"] }), ["other"]);
  assertEquals(found(documents, { keywords: ["nothing"] }), []);
  assertEquals(found(documents, { keywords: [] }).length, 5);
});

Deno.test("organizeFinder() matches the file type exactly", () => {
  const documents = ["pdf", "PDF", "pdfx"].map((file_type) =>
    document("s", `dpe://h/${file_type}`, { _meta: { file_type } })
  );
  assertEquals(found(documents, { file_type: "pdf" }), ["pdf"]);
});

Deno.test("organizeFinder() orders servers like the desktop, and documents of a server newest first, undated last", () => {
  const documents = [
    document("b", "dpe://h/b"),
    document("a", "dpe://h/undated"),
    document("a", "dpe://h/odd", dated("some day")),
    document("a", "dpe://h/old", dated("2025-12-31T23:30:00-02:00")),
    document("a", "dpe://h/older", dated("2025-12-31T23:30:00Z")),
    document("a", "dpe://h/new", dated("2026-01-15")),
    document("a", "dpe://h/number", dated(7)),
    document("c", "dpe://h/c"),
  ];
  assertEquals(found(documents, {}, ["c"]), [
    "c",
    "new",
    "old",
    "older",
    "undated",
    "odd",
    "number",
    "b",
  ]);
});

Deno.test("organizeFinder() counts before paging; 20 per page by default", () => {
  const documents = Array.from(
    { length: 45 },
    (_, i) => document("s", `dpe://h/${i}`),
  );
  const page = (query: FinderQuery) => organizeFinder(documents, query, []);
  assertEquals(page({}).documents.length, 20);
  assertEquals(page({ offset: 40 }).documents.length, 5);
  assertEquals(page({ offset: 45 }).documents, []);
  assertEquals(
    page({ offset: 2, limit: 2 }).documents.map(({ doc_ref }) => doc_ref),
    ["2", "3"],
  );
  assertEquals(page({ offset: 99, limit: 1 }).total_count, 45);
});

const anyDocument = fc.record({
  server: fc.constantFrom("a", "b", "c"),
  resource: fc.record({
    uri: fc.oneof(
      fc.constantFrom("dpe://h/a", "dpe://h", "dpe://h/b?x", "window://h/a"),
      fc.webPath().map((path) => `dpe://h${path}`),
    ),
    title: fc.oneof(fc.string(), fc.constant(null), fc.integer()),
    description: fc.anything(),
    annotations: fc.oneof(
      fc.anything(),
      fc.record({ lastModified: fc.date({ noInvalidDate: true }).map(String) }),
    ),
    _meta: fc.oneof(
      fc.anything(),
      fc.record({ keywords: fc.anything(), page_count: fc.anything() }),
    ),
  }, { requiredKeys: ["uri"] }),
}) as fc.Arbitrary<ListedDocument>;

Deno.test("organizeFinder() returns valid and consistent pages for any list", () => {
  fc.assert(
    fc.property(
      fc.array(anyDocument, { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      (documents, limit) => {
        const all = organizeFinder(documents, { limit: 100 }, []);
        const pages = Array.from(
          { length: 31 },
          (_, i) => organizeFinder(documents, { offset: i * limit, limit }, []),
        ).flatMap((
          page,
        ) => page.documents);
        assertEquals(pages, all.documents);
        assert(all.total_count <= documents.length);
        parseGetFinderRet({
          documents: all.documents,
          total_count: all.total_count,
          req_id: "r",
        });
      },
    ),
  );
});
