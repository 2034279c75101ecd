import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import {
  documentFiles,
  linkParts,
} from "../../../../computer/resources/resolvers.ts";
import {
  hostClaims,
  hostClashes,
  routeHost,
} from "../../../../computer/resources/listed.ts";
import {
  type DpeResolver,
  type DpeSources,
  resolveDpe,
} from "../../../../computer/resources/dpe.ts";
import {
  ErrorCode,
  type GetDPEReq,
  ProtocolError,
} from "../../../../protocol/mod.ts";

const claims = (server: string, ...uris: string[]) =>
  hostClaims(server, uris.map((uri) => ({ uri })));

Deno.test("hostClaims() collects the hosts of windows and documents, and nothing else", () => {
  const { windows, documents } = claims(
    "a",
    "window://w/x",
    "window://both",
    "dpe://d/x?q=1",
    "dpe://both/x",
    "dpe://no-doc",
    "window:///x",
    "https://other/x",
  );
  assertEquals([...windows], ["w", "both"]);
  assertEquals([...documents], ["d", "both"]);
});

Deno.test("hostClashes() names every host that two servers use, for windows or documents", () => {
  const clashes = hostClashes([
    claims("a", "dpe://docs/1", "dpe://docs/2", "window://own"),
    claims("b", "window://docs"),
    claims("c", "dpe://mine/1"),
  ]);
  assertEquals(clashes.length, 1);
  assertStringIncludes(
    clashes[0] ?? "",
    'Host "docs" is used by the MCP servers "a" and "b"',
  );
});

Deno.test("routeHost() returns the first registered server that lists the host", () => {
  const all = [
    claims("w", "window://h/x"),
    claims("a", "dpe://h/1"),
    claims("b", "dpe://h/2", "dpe://b/1"),
  ];
  assertEquals(routeHost(all, "h"), { server: "a", passedOver: ["b", "w"] });
  assertEquals(routeHost(all, "b"), { server: "b", passedOver: [] });
  assertEquals(routeHost(all.slice(0, 1), "h"), {
    server: "w",
    passedOver: [],
  });
  assertEquals(routeHost(all, "none"), undefined);
});

const request = (over: Partial<GetDPEReq> = {}): GetDPEReq => ({
  agent: "a",
  req_id: "r1",
  computer: "pc",
  uri: "dpe://h/doc",
  ...over,
});

const sources = (
  resolve: DpeResolver["resolve"] | undefined,
  over: Partial<DpeSources> = {},
): DpeSources => ({
  resolver: resolve && { resolve },
  route: () => Promise.resolve("docs"),
  read: () => Promise.resolve([{ text: "{}", mimeType: "application/json" }]),
  ...over,
});

/** A resolver that violates its type. */
const odd = (answer: unknown) => (() => answer) as DpeResolver["resolve"];

/** The error of a resolution that the Agent gets. */
async function refusal(
  from: DpeSources,
  over: Partial<GetDPEReq> = {},
): Promise<Record<string, unknown>> {
  const error = await assertRejects(
    () => resolveDpe(request(over), from),
    ProtocolError,
  );
  const { message: _, ...payload } = error.toPayload();
  return payload;
}

Deno.test("resolveDpe() passes contents to the resolver, and returns its answer", async () => {
  const seen: unknown[] = [];
  const answer = await resolveDpe(
    request(),
    sources((uri, contents, { signal, ...context }) => {
      seen.push(uri, contents, context, signal.aborted);
      return { uri: "https://h/x", mime_type: "application/json", size: 2 };
    }),
  );
  assertEquals(seen, [
    "dpe://h/doc",
    [{ text: "{}", mimeType: "application/json" }],
    { mcp_server_name: "docs", mime_type: "application/json" },
    false,
  ]);
  assertEquals(answer, {
    uri: "https://h/x",
    mime_type: "application/json",
    size: 2,
    req_id: "r1",
  });
});

Deno.test("resolveDpe() checks the URI before the resolver, and the resolver before the host", async () => {
  const none = sources(undefined, { route: () => Promise.resolve(undefined) });
  for (
    const uri of [
      "https://h/x",
      "dpe://",
      "dpe://h",
      "dpe://h/",
      "dpe://h/x?a=1",
      "dpe://h/x#a",
      "dpe://h//x",
      "nonsense",
    ]
  ) {
    const { code, reason, ...rest } = await refusal(none, { uri });
    assertEquals(code, ErrorCode.INVALID_DPE_URI, uri);
    assertEquals(rest, { uri });
    assert(typeof reason === "string" && reason !== "");
  }
  assertEquals(await refusal(none), {
    code: ErrorCode.DPE_RESOLVER_NOT_CONFIGURED,
    uri: "dpe://h/doc",
  });
});

Deno.test("resolveDpe() answers 4013 with a reason for every later failure", async () => {
  const ok = () => ({ uri: "https://h/x" });
  const rows: [DpeSources, reason: string][] = [
    [
      sources(ok, { route: () => Promise.resolve(undefined) }),
      'no MCP server lists the host "h"',
    ],
    [
      sources(ok, { read: () => Promise.reject(new Error("it is away")) }),
      "it is away",
    ],
    [
      sources(() => {
        throw new Error("disk full");
      }),
      "disk full",
    ],
    [sources(() => Promise.reject("no")), "no"],
    [sources(odd(undefined)), "the resolver gave no URI"],
    [sources(odd({ uri: "" })), "the resolver gave no URI"],
    [sources(odd({ uri: 7 })), "the resolver gave no URI"],
    [
      sources(odd({ uri: "not a uri" })),
      "the resolver gave no URI that an Agent could fetch",
    ],
    [
      sources(odd({ uri: "dpe://h/doc" })),
      "the resolver gave no URI that an Agent could fetch",
    ],
  ];
  for (const [from, reason] of rows) {
    assertEquals(await refusal(from), {
      code: ErrorCode.DPE_RESOLUTION_FAILED,
      uri: "dpe://h/doc",
      reason,
    });
  }
});

Deno.test("resolveDpe() redacts a query that an error quotes", async () => {
  const { reason } = await refusal(sources(() => {
    throw new Error(
      "cannot PUT https://s3.example.com/b/k?X-Amz-Signature=abc",
    );
  }));
  assert(!String(reason).includes("abc"), String(reason));
});

Deno.test("resolveDpe() drops an invalid size or type", async () => {
  const from = sources(odd({ uri: "x:y", size: -1, mime_type: null }));
  assertEquals(
    await resolveDpe(request(), from),
    { uri: "x:y", req_id: "r1" },
  );
});

Deno.test("resolveDpe() bounds reading and resolving by the timeout, and aborts them", async () => {
  const aborted: string[] = [];
  const hang = (what: string, signal: AbortSignal) =>
    new Promise<never>(() =>
      signal.addEventListener("abort", () => aborted.push(what))
    );
  const reads = sources(() => ({ uri: "x:y" }), {
    read: (_server, _uri, signal) => hang("read", signal),
  });
  const resolves = sources((_uri, _contents, { signal }) =>
    hang("resolve", signal)
  );
  for (const from of [reads, resolves]) {
    assertEquals(await refusal(from, { timeout: 1 }), {
      code: ErrorCode.DPE_RESOLUTION_FAILED,
      uri: "dpe://h/doc",
      reason: "it took longer than 1 s",
    });
  }
  assertEquals(aborted, ["read", "resolve"]);
});

Deno.test("documentFiles() creates safe file names for any URI", async () => {
  const long = "x".repeat(5_000);
  const uris = [
    "dpe://h/..",
    "dpe://h/%2e%2e/%2e%2e/etc/passwd",
    "dpe://h/..%2f..%2fetc%2fpasswd",
    "dpe://h/%2Fetc%2Fpasswd",
    "dpe://h/..%5c..%5cwindows",
    "dpe://../x",
    "dpe://h/CON",
    "dpe://h/nul.txt",
    "dpe://h/a%00b",
    "dpe://h/.hidden",
    "dpe://h/-rf",
    "dpe://h/%E6%97%A5%E6%9C%AC",
    "dpe://日本/日",
    `dpe://${long}/${long}`,
  ];
  const names = new Set<string>();
  for (const uri of uris) {
    const { document, parts } = await documentFiles(uri, [
      { text: "{}" },
      { text: "a page", mimeType: "../../evil" },
    ]);
    for (const { name } of [document, ...parts]) {
      assert(/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name), name);
      assert(name.length <= 120, name);
      assert(!name.includes(".."), name);
      names.add(name.toLowerCase());
    }
  }
  assertEquals(names.size, 2 * uris.length, "no two share a name");
});

Deno.test("documentFiles() gives a document one name for all spellings of its URI", async () => {
  const name = async (uri: string) =>
    (await documentFiles(uri, [{ text: "{}" }])).document.name;
  assertEquals(await name("dpe://h/a%62"), await name("dpe://h/ab"));
  assert(await name("dpe://h/a/b") !== await name("dpe://h/a%2Fb"));
  assert(await name("dpe://h/ab") !== await name("dpe://h/AB"));
});

Deno.test("documentFiles() keeps bytes and types of text and base64", async () => {
  const { document, parts } = await documentFiles("dpe://h/d", [
    { text: "é", mimeType: "text/markdown" },
    { blob: "AP+A", mimeType: "image/png", uri: "dpe://h/d/img" },
    { blob: "AA==" },
    { text: '{"a":1}' },
    { text: "plain" },
  ]);
  const shown = [document, ...parts].map(({ name, bytes, mimeType, uri }) => [
    name.replace(/^h-d-[0-9a-f]{32}/, ""),
    [...bytes],
    mimeType,
    uri,
  ]);
  const utf8 = (text: string) => [...new TextEncoder().encode(text)];
  assertEquals(shown, [
    [".md", [0xc3, 0xa9], "text/markdown", undefined],
    [".1.png", [0, 255, 128], "image/png", "dpe://h/d/img"],
    [".2.bin", [0], "application/octet-stream", undefined],
    [".3.json", utf8('{"a":1}'), "application/json", undefined],
    [".4.txt", utf8("plain"), "text/plain", undefined],
  ]);
});

Deno.test("documentFiles() uses the contents with the URI as the document, else the first", async () => {
  const contents = [
    { uri: "dpe://h/d/pages/0", text: "page" },
    { uri: "dpe://h/d", text: "document" },
  ];
  const own = await documentFiles("dpe://h/d", contents);
  assertEquals(own.document.uri, "dpe://h/d");
  const first = await documentFiles("dpe://h/e", contents);
  assertEquals(first.document.uri, "dpe://h/d/pages/0");
});

Deno.test("documentFiles() refuses missing or empty contents", async () => {
  const rows: [Parameters<typeof documentFiles>[1], string][] = [
    [[], "no contents"],
    [[{ mimeType: "text/plain" }], "without text and blob"],
    [[{ blob: "$$$" }], "not base64"],
  ];
  for (const [contents, why] of rows) {
    await assertRejects(() => documentFiles("dpe://h/d", contents), Error, why);
  }
});

Deno.test("linkParts() links the pages of a manifest, and changes nothing else", async () => {
  const manifest = {
    doc_ref: "d",
    extra: { kept: [1, "é"] },
    pages: [
      { page_index: 0, uri: "dpe://h/d/0" },
      { page_index: 1, uri: "dpe://h/d/1", title: "t" },
      { page_index: 2, elements: [] },
      "odd",
    ],
  };
  const { document } = await documentFiles("dpe://h/d", [
    { text: JSON.stringify(manifest) },
  ]);
  const linked = linkParts(document, new Map([["dpe://h/d/1", "file:///1"]]));
  const { pages, ...rest } = JSON.parse(new TextDecoder().decode(linked.bytes));
  assertEquals(rest, { doc_ref: "d", extra: { kept: [1, "é"] } });
  assertEquals(pages, [
    manifest.pages[0],
    { page_index: 1, uri: "file:///1", title: "t" },
    manifest.pages[2],
    "odd",
  ]);
});

Deno.test("linkParts() does not change other documents", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const bytes = new TextEncoder().encode(text);
      const file = { name: "n", bytes, mimeType: "text/plain" };
      assertEquals(linkParts(file, new Map([["a", "b"]])), file);
    }),
  );
});
