import { assertEquals, assertThrows } from "@std/assert";
import {
  parseDPEDocument,
  parseDPEPage,
  ProtocolError,
} from "../../../protocol/mod.ts";

const document = (over: Record<string, unknown> = {}) => ({
  doc_ref: "d",
  uri: "dpe://h/d",
  title: "T",
  pages: [],
  ...over,
});

Deno.test("parseDPEDocument() takes a document, whole or manifest, and keeps what it does not know", () => {
  const whole = document({
    file_uri: "file:///d.pdf",
    file_type: "pdf",
    summary: "s",
    page_count: 2,
    keywords: ["k"],
    last_modified: "2026-01-15",
    later: { field: 1 },
    pages: [
      {
        page_index: 0,
        title: "p",
        elements: [
          {
            element_id: "e",
            category: "Table",
            text: "t",
            rows: [[1]],
            metadata: {},
            content: { a: 1 },
          },
        ],
      },
      { page_index: 1, uri: "pages/1.json" },
    ],
  });
  assertEquals<unknown>(parseDPEDocument(whole), whole);
});

Deno.test("parseDPEDocument() leaves null fields out, at every level", () => {
  const { pages, ...rest } = parseDPEDocument(document({
    summary: null,
    page_count: null,
    pages: [{
      page_index: 0,
      title: null,
      uri: null,
      elements: [{
        element_id: "e",
        category: "x",
        text: null,
        metadata: null,
      }],
    }],
  }));
  assertEquals<unknown>(rest, { doc_ref: "d", uri: "dpe://h/d", title: "T" });
  assertEquals(pages, [{
    page_index: 0,
    elements: [{ element_id: "e", category: "x" }],
  }]);
});

Deno.test("parseDPEDocument() names the field that is wrong", () => {
  const page = (over: Record<string, unknown>) =>
    document({ pages: [{ page_index: 0, elements: [], ...over }] });
  const element = (over: Record<string, unknown>) =>
    page({ elements: [{ element_id: "e", category: "c", ...over }] });
  const rows: [unknown, field: string][] = [
    [undefined, "payload"],
    ["text", "payload"],
    [[], "payload"],
    [document({ doc_ref: undefined }), "doc_ref"],
    [document({ title: 7 }), "title"],
    [document({ pages: {} }), "pages"],
    [document({ keywords: ["a", 1] }), "keywords.1"],
    [document({ page_count: -1 }), "page_count"],
    [document({ pages: ["x"] }), "pages.0"],
    [page({ page_index: -1 }), "pages.0.page_index"],
    [page({ page_index: "0" }), "pages.0.page_index"],
    [page({ elements: null }), "pages.0"],
    [page({ uri: "" }), "pages.0.uri"],
    [element({ category: null }), "pages.0.elements.0.category"],
    [element({ element_id: 1 }), "pages.0.elements.0.element_id"],
    [element({ text: [] }), "pages.0.elements.0.text"],
  ];
  for (const [data, field] of rows) {
    const error = assertThrows(() => parseDPEDocument(data), ProtocolError);
    assertEquals(error.details?.fields, [field]);
  }
});

Deno.test("parseDPEPage() wants elements or a uri", () => {
  assertEquals(parseDPEPage({ page_index: 3, elements: [] }), {
    page_index: 3,
    elements: [],
  });
  assertThrows(
    () => parseDPEPage({ page_index: 3, title: "t" }),
    ProtocolError,
    "a page needs elements, or a uri",
  );
});
