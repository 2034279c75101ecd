import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  buildDpeUri,
  docRefOf,
  parseDpeUri,
  parseListedDpeUri,
} from "../../../protocol/payloads/documents.ts";
import { ProtocolError } from "../../../protocol/errors.ts";

const host = fc.constantFrom("com.example.docs", "a", "日本", "h:80");
const segment = fc.oneof(
  fc.constantFrom("/", "%", "%2F", "pages", "0", ".", "..", " ", "?", "#"),
  fc.string({ minLength: 1, unit: "binary" }),
);
const docRef = fc.array(segment, { minLength: 1 });

/** Everything that is not dpe://HOST/DOC-REF, and what the reason must say. */
const INVALID: readonly [text: string, why: string][] = [
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

/** Asserts 4012 with `uri` and `reason`, as it goes over the wire. */
function assertInvalid(read: () => unknown, uri: string, why: string): void {
  const { code, fields } = assertThrows(read, ProtocolError, "", uri);
  assertEquals(code, 4012, uri);
  assertEquals(fields.uri, uri);
  assertStringIncludes(String(fields.reason), why);
}

Deno.test("parseDpeUri() reads host and document reference", () => {
  const examples: [text: string, host: string, docRef: string[]][] = [
    ["dpe://host/doc-1", "host", ["doc-1"]],
    ["dpe://com.example/2026/q1/report", "com.example", [
      "2026",
      "q1",
      "report",
    ]],
    ["dpe://host/c%2Fd/caf%C3%A9", "host", ["c/d", "café"]],
    ["dpe://host/doc/pages/3", "host", ["doc", "pages", "3"]],
    ["DPE://Host/Doc", "Host", ["Doc"]],
  ];
  for (const [text, host, docRef] of examples) {
    assertEquals(parseDpeUri(text), { host, docRef });
    assertEquals(parseListedDpeUri(text), {
      uri: { host, docRef },
      warnings: [],
    });
  }
});

Deno.test("parseDpeUri() and parseListedDpeUri() refuse anything else as 4012 with uri and reason", () => {
  for (const [text, why] of INVALID) {
    assertInvalid(() => parseDpeUri(text), text, why);
    assertInvalid(() => parseListedDpeUri(text), text, why);
  }
});

Deno.test("parseDpeUri() refuses a query or fragment as 4012", () => {
  assertInvalid(() => parseDpeUri("dpe://h/d?a=b"), "dpe://h/d?a=b", "query");
  assertInvalid(() => parseDpeUri("dpe://h/d?"), "dpe://h/d?", "query");
  assertInvalid(() => parseDpeUri("dpe://h/d#p2"), "dpe://h/d#p2", "fragment");
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

Deno.test("buildDpeUri() refuses what can not be read back as 4012", () => {
  const uris: [host: string, docRef: string[], why: string][] = [
    ["h", [], "document reference"],
    ["h", [""], "segment must not be empty"],
    ["", ["a"], "host must not be empty"],
    ["a/b", ["c"], "cannot be a host"],
    ["h", ["\udc00"], "half a character"],
  ];
  for (const [host, docRef, why] of uris) {
    const error = assertThrows(
      () => buildDpeUri({ host, docRef }),
      ProtocolError,
    );
    assertEquals(error.code, 4012);
    assertStringIncludes(String(error.fields.reason), why);
  }
});

Deno.test("docRefOf() is the reference as it stands in the URI", () => {
  fc.assert(
    fc.property(host, docRef, (host, docRef) => {
      assertEquals(
        `dpe://${host}/${docRefOf({ host, docRef })}`,
        buildDpeUri({ host, docRef }),
      );
    }),
  );
});

Deno.test("DPE URIs survive being built and parsed, whatever their segments hold", () => {
  fc.assert(
    fc.property(host, docRef, (host, docRef) => {
      const text = buildDpeUri({ host, docRef });
      assertEquals(parseDpeUri(text), { host, docRef });
      assertEquals(buildDpeUri(parseDpeUri(text)), text);
    }),
  );
});

Deno.test("parseDpeUri() gives a URI or 4012 for any text at all", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "binary" }).map((rest) => `dpe://h/${rest}`),
  );
  fc.assert(
    fc.property(text, (text) => {
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
