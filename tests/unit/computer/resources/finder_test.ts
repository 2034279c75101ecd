import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { allPages } from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  documentSummary,
  type FinderQuery,
  type ListedDocument,
  organizeFinder,
  readDocuments,
} from "../../../../computer/resources/finder.ts";
import {
  changeEvents,
  listedUris,
  NO_URIS,
} from "../../../../computer/resources/listed.ts";
import { orderServers } from "../../../../computer/resources/servers.ts";
import { RecentServers } from "../../../../computer/tools/tool_calls.ts";
import type { Resource } from "../../../../protocol/mod.ts";
import { getFinder } from "../../../../protocol/payloads/finder.ts";

Deno.test("documentSummary() reads every field from its place in the resource, and fills in missing ones", () => {
  const warnings: string[] = [];
  const warn = (warning: string) => void warnings.push(warning);
  const whole = {
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
  };
  assertEquals(documentSummary("docs", whole, warn), {
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
  const uri = "dpe://h/d";
  for (const [name, title] of [["n", "n"], [undefined, "d"]]) {
    const resource = { uri, ...(name && { name }) };
    assertEquals(documentSummary("s", resource, warn), {
      doc_ref: "d",
      uri,
      file_uri: "",
      file_type: "",
      title: `${title}`,
      page_count: 0,
      server: "s",
    });
  }
  for (const page_count of [0, -1, 1.5, "3", true, [], 2 ** 60, null]) {
    const resource = { uri, _meta: { page_count } };
    assertEquals(documentSummary("s", resource, warn).page_count, 0);
    const expected = page_count === null ? 0 : 1;
    assertEquals(warnings.splice(0).length, expected);
  }
});

/** A document of a server, by default the one of the URI's host. */
const document = (
  uri: string,
  over: Partial<Resource> = {},
): ListedDocument => ({
  server: uri.split("/")[2] ?? "",
  resource: { uri, ...over },
});

const found = (
  documents: ListedDocument[],
  query: FinderQuery = {},
  history: string[] = [],
): string[] =>
  organizeFinder(readDocuments(documents, []), query, history).documents
    .map(({ doc_ref }) => doc_ref);

Deno.test("readDocuments() skips invalid documents, and drops a query, with warnings", () => {
  const warnings: string[] = [];
  const documents = readDocuments(
    ["dpe://h", "dpe:///x", "dpe://h/a?x=1"].map((uri) => document(uri)),
    warnings,
  );
  assertEquals(documents.map(({ uri }) => uri), ["dpe://h/a"]);
  assertEquals(warnings.length, 3);
  assert(warnings.join("\n").includes("left out"));
});

Deno.test("organizeFinder() finds any keyword in title, keywords or summary, ignoring case, and the exact file type", () => {
  const documents = [
    document("dpe://h/title", { title: "Annual REPORT" }),
    document("dpe://h/summary", { description: "a report of it" }),
    document("dpe://h/keywords", { _meta: { keywords: ["RePorting"] } }),
    document("dpe://h/other", { title: "Menu" }),
    document("dpe://h/report-in-uri", { title: "x" }),
    ...["pdf", "PDF", "pdfx"].map((file_type) =>
      document(`dpe://h/${file_type}`, { _meta: { file_type } })
    ),
  ];
  const rows: [query: FinderQuery, found: string[]][] = [
    [{ keywords: ["report"] }, ["title", "summary", "keywords"]],
    [{ keywords: ["MENU", "nothing"] }, ["other"]],
    [{ keywords: ["nothing"] }, []],
    [{ file_type: "pdf" }, ["pdf"]],
    [{ file_type: "pdf", keywords: ["report"] }, []],
  ];
  for (const [query, expected] of rows) {
    assertEquals(found(documents, query), expected);
  }
  assertEquals(found(documents, { keywords: [] }).length, documents.length);
});

Deno.test("organizeFinder() orders servers like the desktop, and documents of a server newest first, undated last", () => {
  const dated = (uri: string, lastModified: unknown) =>
    document(uri, { annotations: { lastModified } });
  const documents = [
    document("dpe://b/b"),
    document("dpe://a/undated"),
    dated("dpe://a/odd", "some day"),
    dated("dpe://a/old", "2025-12-31T23:30:00-02:00"),
    dated("dpe://a/older", "2025-12-31T23:30:00Z"),
    dated("dpe://a/new", "2026-01-15"),
    dated("dpe://a/number", 7),
    document("dpe://c/c"),
  ];
  assertEquals(
    found(documents, {}, ["c"]).join(" "),
    "c new old older undated odd number b",
  );
});

Deno.test("organizeFinder() counts before paging; 20 per page by default", () => {
  const listed = Array.from(
    { length: 45 },
    (_, i) => document(`dpe://h/${i}`),
  );
  const documents = readDocuments(listed, []);
  const rows: [query: FinderQuery, first: number, length: number][] = [
    [{}, 0, 20],
    [{ offset: 40 }, 40, 5],
    [{ offset: 45 }, 45, 0],
    [{ offset: 2, limit: 2 }, 2, 2],
    [{ offset: 99, limit: 1 }, 99, 0],
  ];
  for (const [query, first, length] of rows) {
    const page = organizeFinder(documents, query, []);
    assertEquals(
      page.documents.map(({ doc_ref }) => doc_ref),
      Array.from({ length }, (_, i) => `${first + i}`),
    );
    assertEquals(page.total_count, 45);
  }
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
      (listed, limit) => {
        const all = readDocuments(listed, []);
        const { documents, total_count } = organizeFinder(
          all,
          { limit: 100 },
          [],
        );
        const pages = Array.from(
          { length: 31 },
          (_, i) => organizeFinder(all, { offset: i * limit, limit }, []),
        );
        assertEquals(pages.flatMap((page) => page.documents), documents);
        assert(total_count <= listed.length);
        getFinder.parseAnswer({ documents, total_count, req_id: "r" });
      },
    ),
  );
});

const listed = (...uris: string[]) => listedUris(uris.map((uri) => ({ uri })));

Deno.test("changeEvents() announces a list whose windows or documents differ, and new contents of one, known or not (protocol §8.5)", () => {
  const uris = listed("window://a", "window://b", "dpe://h/1", "file:///x");
  const desktop = "server:update_desktop";
  const finder = "server:update_finder";
  const lists: [list: string, ...events: string[]][] = [
    ["dpe://h/1 window://b window://a"],
    ["window://a window://b dpe://h/1 file:///y"],
    ["window://a dpe://h/1", desktop],
    ["window://a window://c dpe://h/1", desktop],
    ["window://a window://b", finder],
    ["window://a window://b dpe://h/2", finder],
    ["", desktop, finder],
  ];
  for (const [list, ...events] of lists) {
    const after = listed(...list.split(" "));
    assertEquals<string[]>(changeEvents(uris, after), events, list);
  }
  const contents: [uri: string, ...events: string[]][] = [
    ["window://a", desktop],
    ["WINDOW://a", desktop],
    ["dpe://h/1", finder],
    ["file:///x"],
    ["windows://a"],
    [""],
  ];
  for (const [uri, ...events] of contents) {
    const found = changeEvents(NO_URIS, listed(uri));
    assertEquals<string[]>(found, events, uri);
  }
});

Deno.test("orderServers() lists each server once, those of the history first", () => {
  const names = fc.uniqueArray(fc.string());
  fc.assert(fc.property(names, fc.array(fc.string()), (servers, history) => {
    const order = orderServers(servers, history);
    assertEquals(order.toSorted(), servers.toSorted());
    const used = order.filter((server) => history.includes(server));
    assertEquals(order.slice(0, used.length), used);
  }));
});

Deno.test("RecentServers keeps each server once, the most recent last", () => {
  const recent = new RecentServers();
  for (const server of ["a", "b", "a", "c", "b"]) recent.used(server);
  const { history } = recent;
  recent.clear();
  assertEquals([history, recent.history], [["a", "c", "b"], []]);
});

const isFatal = () => false;

Deno.test("allPages() follows cursors, and keeps what came of a list that does not end or of which a page fails, each item once", async () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name }));
  const rows: [
    pages: Record<string, { items: unknown[]; nextCursor?: string }>,
    items: unknown[],
    problem?: string,
  ][] = [
    [{
      first: { items: [a, b], nextCursor: "2" },
      2: { items: [], nextCursor: "3" },
      3: { items: [c] },
    }, [a, b, c]],
    [{ first: { items: [a], nextCursor: "" }, "": { items: [b] } }, [a, b]],
    [{ first: { items: [a], nextCursor: "" } }, [a]],
    [
      {
        first: { items: [a], nextCursor: "" },
        "": { items: [a], nextCursor: "" },
      },
      [a],
    ],
    [
      {
        first: { items: [a, b], nextCursor: "2" },
        2: { items: [b, c], nextCursor: "3" },
      },
      [a, b, c],
      "is not complete: page 3 failed (Invalid cursor)",
    ],
    [
      {
        first: { items: [a], nextCursor: "2" },
        2: { items: [b, 5], nextCursor: "2" },
      },
      [a, b, 5],
      "never ends (a page or its cursor repeats)",
    ],
  ];
  for (const [pages, items, problem] of rows) {
    const fetch = (cursor = "first") =>
      pages[cursor]
        ? Promise.resolve(pages[cursor])
        : Promise.reject(new Error("Invalid cursor"));
    assertEquals<unknown>(await allPages("x/list", "name", fetch, isFatal), {
      items,
      ...(problem &&
        { problem: `x/list ${problem}; what came before is used` }),
    });
  }
  let count = 0;
  const again = await allPages(
    "x/list",
    "name",
    () => Promise.resolve({ items: [a], nextCursor: String(count++) }),
    isFatal,
  );
  assertEquals([again.items, count], [[a], 2]);
  count = 0;
  const empty = await allPages(
    "x/list",
    "name",
    () => Promise.resolve({ items: [], nextCursor: String(count++) }),
    isFatal,
  );
  assertStringIncludes(empty.problem ?? "", "over 1000 pages");
});

Deno.test("allPages() bounds the values and texts of all pages together", async () => {
  const endless = (item: unknown) => {
    let pages = 0;
    return {
      fetch: () =>
        Promise.resolve({ items: [item], nextCursor: String(pages++) }),
      count: () => pages,
    };
  };
  for (
    const [item, most] of [
      [Array.from({ length: 100_000 }, () => ({})), 5],
      ["a".repeat(2 ** 22), 16],
    ] as const
  ) {
    const { fetch, count } = endless(item);
    const { items, problem = "" } = await allPages(
      "x/list",
      "name",
      fetch,
      isFatal,
    );
    assertStringIncludes(problem, "x/list is too long");
    assertEquals([items.length, count()], [most - 1, most]);
  }
});
