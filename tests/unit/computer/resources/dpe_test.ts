import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostedServer } from "../../../../computer/host/hosted_server.ts";
import type { McpConnection } from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  localDirResolver,
  type ResourceContents,
} from "../../../../computer/mod.ts";
import {
  type DpeParts,
  type DpeResolver,
  getDpe,
} from "../../../../computer/resources/dpe.ts";
import {
  hostClaims,
  hostClashes,
  listedUris,
  routeHost,
} from "../../../../computer/resources/listed.ts";
import {
  documentFiles,
  linkParts,
} from "../../../../computer/resources/resolvers.ts";
import {
  type GetDPEReq,
  parseMCPServerConfig,
  ProtocolError,
} from "../../../../protocol/mod.ts";
import { scratch } from "../../../support/scratch.ts";

const claims = (server: string, ...uris: string[]) =>
  hostClaims(server, listedUris(uris.map((uri) => ({ uri }))));

Deno.test("hostClaims() collects the hosts of windows and documents, and nothing else", () => {
  const { windows, documents } = claims(
    "a",
    ..."window://w/x window://both dpe://d/x?q=1 dpe://both/x".split(" "),
    ..."dpe://no-doc window:///x https://other/x".split(" "),
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
  assertEquals(clashes.map((text) => text.split(";")[0]), [
    'Host "docs" is used by the MCP servers "a" and "b"',
  ]);
});

Deno.test("routeHost() returns the first registered server that lists the host", () => {
  const all = [
    claims("w", "window://h/x", "window://b"),
    claims("a", "dpe://h/1", "window://h/1"),
    claims("b", "dpe://h/2", "dpe://b/1"),
  ];
  const routes = ["h", "b", "none"].map((host) => routeHost(all, host));
  assertEquals(routes, [["a", "b", "w"], ["b", "w"], []]);
  assertEquals(routeHost(all.slice(0, 1), "h"), ["w"]);
});

const uri = "dpe://h/doc";
const request = (over: Partial<GetDPEReq> = {}): GetDPEReq => ({
  agent: "a",
  req_id: "r1",
  computer: "pc",
  uri,
  ...over,
});

type Read = McpConnection["readResource"];

/** A host with one MCP server, and a resolver, which may violate its type. */
function sources(
  resolve:
    | ((...args: Parameters<DpeResolver["resolve"]>) => unknown)
    | undefined,
  { route = "docs", read = () => Promise.resolve([JSON_TEXT]) }: {
    route?: string | null;
    read?: Read;
  } = {},
): DpeParts {
  const connection: Partial<McpConnection> = { readResource: read };
  const server: Partial<HostedServer> = {
    config: parseMCPServerConfig({
      name: "documents",
      type: "stdio",
      server_parameters: { command: "x" },
    }),
    connection: connection as McpConnection,
  };
  return {
    resolver: resolve && { resolve: resolve as DpeResolver["resolve"] },
    hosting: {
      host: {
        server: (id) => id === "docs" ? server as HostedServer : undefined,
      },
    },
    watch: {
      route: () => Promise.resolve(route ?? undefined),
      originalOf: (_server, uri) => `${uri}?original`,
    },
  };
}

const JSON_TEXT = { text: "{}", mimeType: "application/json" };

/** The error of a resolution that the Agent gets, without its message. */
async function refusal(from: DpeParts, over: Partial<GetDPEReq> = {}) {
  const error = await assertRejects(
    () => getDpe(request(over), from),
    ProtocolError,
  );
  const { message: _, ...payload } = error.toPayload();
  return payload;
}

Deno.test("getDpe() passes contents to the resolver, and returns its answer without an invalid size or type", async () => {
  const seen: unknown[] = [];
  const answer = { uri: "https://h/x", mime_type: "application/json", size: 2 };
  assertEquals(
    await getDpe(
      request(),
      sources((uri, contents, { signal, ...context }) => {
        seen.push(uri, contents, context, signal.aborted);
        return answer;
      }),
    ),
    { ...answer, req_id: "r1" },
  );
  assertEquals(seen, [
    uri,
    [{ text: "{}", mimeType: "application/json" }],
    { mcp_server_name: "documents", mime_type: "application/json" },
    false,
  ]);
  const odd = sources(() => ({ uri: "x:y", size: -1, mime_type: null }));
  assertEquals(await getDpe(request(), odd), { uri: "x:y", req_id: "r1" });
});

Deno.test("getDpe() checks the URI before the resolver, and the resolver before the host", async () => {
  const none = sources(undefined, { route: null });
  const invalid =
    "https://h/x dpe:// dpe://h dpe://h/ dpe://h/x?a=1 dpe://h/x#a dpe://h//x nonsense";
  for (const uri of invalid.split(" ")) {
    const { reason, ...rest } = await refusal(none, { uri });
    assertEquals(rest, { code: 4012, uri });
    assert(typeof reason === "string" && reason !== "");
  }
  assertEquals(await refusal(none), { code: 4011, uri });
});

Deno.test("getDpe() answers 4013 with a reason for every later failure, without a query", async () => {
  const ok = () => ({ uri: "https://h/x" });
  const fail = (message: string) => () => {
    throw new Error(message);
  };
  const rows: [DpeParts, reason: string][] = [
    [sources(ok, { route: null }), 'no MCP server lists the host "h"'],
    [sources(ok, { route: "away" }), 'MCP server "away" is gone'],
    [
      sources(ok, { read: () => Promise.reject(new Error("secret")) }),
      'MCP server "documents" could not be reached',
    ],
    [sources(fail("disk full")), "disk full"],
    [
      sources(fail("cannot PUT https://s3.example/b/k?X-Amz-Signature=abc")),
      "cannot PUT https://s3.example/b/k?X-Amz-Signature=<redacted>",
    ],
    [sources(() => Promise.reject("no")), "no"],
    [sources(() => undefined), "the resolver gave no URI"],
    [sources(() => ({ uri: "" })), "the resolver gave no URI"],
    [sources(() => ({ uri: 7 })), "the resolver gave no URI"],
    ...["not a uri", uri].map((uri): [DpeParts, string] => [
      sources(() => ({ uri })),
      "the resolver gave no URI that an Agent could fetch",
    ]),
  ];
  for (const [from, reason] of rows) {
    assertEquals(await refusal(from), { code: 4013, uri, reason });
  }
});

Deno.test("getDpe() bounds reading and resolving by the timeout, and aborts them", async () => {
  const aborted: string[] = [];
  const hang = (step: string, signal: AbortSignal) =>
    new Promise<never>(() =>
      signal.addEventListener("abort", () => aborted.push(step))
    );
  const reads = sources(() => ({ uri: "x:y" }), {
    read: (_uri, { signal } = {}) =>
      signal ? hang("read", signal) : Promise.reject(),
  });
  const resolves = sources((_uri, _contents, { signal }) =>
    hang("resolve", signal)
  );
  for (const from of [reads, resolves]) {
    assertEquals(await refusal(from, { timeout: 1 }), {
      code: 4013,
      uri,
      reason: "it took longer than 1 s",
    });
  }
  assertEquals(aborted, ["read", "resolve"]);
});

/** URIs whose paths lead elsewhere, or are no names of files. */
const HOSTILE = [
  "dpe://h/..",
  "dpe://h/%2e%2e/%2e%2e/etc/passwd",
  "dpe://h/..%2f..%2fetc%2fpasswd",
  "dpe://h/%2Fetc%2Fpasswd",
  "dpe://h/..%5c..%5cwindows",
  "dpe://../..",
  "dpe://../x",
  "dpe://h/CON",
  "dpe://h/nul.txt",
  "dpe://h/a%00b",
  "dpe://h/.hidden",
  "dpe://h/-rf",
  "dpe://h/%E6%97%A5%E6%9C%AC",
  "dpe://日本/日",
  `dpe://h/${"long/".repeat(2_000)}x`,
  `dpe://${"x".repeat(5_000)}/${"x".repeat(5_000)}`,
];

Deno.test("documentFiles() creates safe file names for any URI", async () => {
  const names = new Set<string>();
  for (const uri of HOSTILE) {
    const { document, parts } = await documentFiles(uri, [
      { text: "{}" },
      { text: "a page", mimeType: "../../evil" },
    ]);
    for (const { name } of [document, ...parts]) {
      assert(/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name), name);
      assert(name.length <= 120 && !name.includes(".."), name);
      names.add(name.toLowerCase());
    }
  }
  assertEquals(names.size, 2 * HOSTILE.length, "no two share a name");
  const nameOf = async (uri: string) =>
    (await documentFiles(uri, [{ text: "{}" }])).document.name;
  assertEquals(await nameOf("dpe://h/a%62"), await nameOf("dpe://h/ab"));
  assert(await nameOf("dpe://h/a/b") !== await nameOf("dpe://h/a%2Fb"));
  assert(await nameOf("dpe://h/ab") !== await nameOf("dpe://h/AB"));
});

Deno.test("documentFiles() keeps bytes and types of text and base64; the contents with the URI are the document, else the first", async () => {
  const { document, parts } = await documentFiles("dpe://h/d", [
    { text: "é", mimeType: "text/markdown" },
    { blob: "AP+A", mimeType: "image/png", uri: "dpe://h/d/img" },
    { blob: "AA==" },
    { text: '{"a":1}' },
    { text: "plain" },
  ]);
  const utf8 = (text: string) => new TextEncoder().encode(text);
  assertEquals(
    [document, ...parts].map(({ name, bytes, mimeType, uri }) => [
      name.replace(/^h-d-[0-9a-f]{32}/, ""),
      Uint8Array.from(bytes),
      mimeType,
      uri,
    ]),
    [
      [".md", utf8("é"), "text/markdown", undefined],
      [".1.png", new Uint8Array([0, 255, 128]), "image/png", "dpe://h/d/img"],
      [".2.bin", new Uint8Array(1), "application/octet-stream", undefined],
      [".3.json", utf8('{"a":1}'), "application/json", undefined],
      [".4.txt", utf8("plain"), "text/plain", undefined],
    ],
  );
  const contents = ["dpe://h/d/0", "dpe://h/d"].map((uri) => ({
    uri,
    text: "",
  }));
  const own = await documentFiles("dpe://h/d", contents);
  assertEquals(own.document.uri, "dpe://h/d");
  const first = await documentFiles("dpe://h/e", contents);
  assertEquals(first.document.uri, "dpe://h/d/0");
});

Deno.test("documentFiles() refuses missing or empty contents", async () => {
  const rows: [ResourceContents[], string][] = [
    [[], "no contents"],
    [[{ mimeType: "text/plain" }], "without text and blob"],
    [[{ blob: "$$$" }], "not base64"],
  ];
  for (const [contents, why] of rows) {
    await assertRejects(() => documentFiles("dpe://h/d", contents), Error, why);
  }
});

Deno.test("linkParts() links the pages of a manifest, and changes nothing else", async () => {
  const pages = [
    { page_index: 0, uri: "dpe://h/d/0" },
    { page_index: 1, uri: "dpe://h/d/1", title: "t" },
    { page_index: 2, elements: [] },
    "odd",
  ];
  const manifest = { doc_ref: "d", extra: { kept: [1, "é"] }, pages };
  const { document } = await documentFiles("dpe://h/d", [
    { text: JSON.stringify(manifest) },
  ]);
  const linked = linkParts(document, new Map([["dpe://h/d/1", "file:///1"]]));
  assertEquals(JSON.parse(new TextDecoder().decode(linked.bytes)), {
    ...manifest,
    pages: pages.with(1, { ...Object(pages[1]), uri: "file:///1" }),
  });
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const bytes = new TextEncoder().encode(text);
      const file = { name: "n", bytes, mimeType: "text/plain" };
      assertEquals(linkParts(file, new Map([["a", "b"]])), file);
    }),
  );
});

async function resolveIn(
  dir: string,
  uri: string,
  contents: ResourceContents[] = [{ text: "{}" }],
  signal: AbortSignal = new AbortController().signal,
) {
  const answer = await localDirResolver(dir).resolve(uri, contents, {
    mcp_server_name: "docs",
    signal,
  });
  return { ...answer, path: fileURLToPath(answer.uri) };
}

Deno.test("localDirResolver() writes a document, text or bytes, creates the directory, and replaces an old one", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "not", "there yet");
  const write = (text: string) =>
    resolveIn(dir, "dpe://h/report", [{ text, mimeType: "application/json" }]);
  await write("old");
  const { path, ...answer } = await write('{"é":1}');
  assertEquals(await readdir(dir), [basename(path)]);
  assertEquals(await readFile(path, "utf8"), '{"é":1}');
  assertEquals([answer.mime_type, answer.size], ["application/json", 8]);
  // The parts of a manifest are written, and linked in it.
  const image = { blob: btoa("\x00\xff\x80"), mimeType: "image/png" };
  const parts = [{ uri: "dpe://h/d/0", text: "page" }, {
    uri: "dpe://h/d/1",
    ...image,
  }];
  const pages = parts.map(({ uri }, page_index) => ({ page_index, uri }));
  const text = JSON.stringify({ pages });
  const manifest = await resolveIn(dir, "dpe://h/d", [{ text }, ...parts]);
  const linked: { uri: string }[] = JSON.parse(
    await readFile(manifest.path, "utf8"),
  ).pages;
  const written = linked.map(async ({ uri }) => [
    extname(uri),
    ...await readFile(new URL(uri)),
  ]);
  assertEquals(await Promise.all(written), [
    [".txt", ...new TextEncoder().encode("page")],
    [".png", 0, 255, 128],
  ]);
  assertEquals((await readdir(dir)).length, 4, "and nothing else");
});

Deno.test("localDirResolver() writes nothing outside its directory, whatever the URI (protocol §8.3)", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "a", "b");
  for (const uri of HOSTILE) {
    assertEquals(dirname((await resolveIn(dir, uri)).path), dir);
  }
  // A link in a document's place is replaced, and not followed.
  const victim = join(folder.path, "victim");
  await writeFile(victim, "untouched");
  const { path } = await resolveIn(dir, "dpe://h/d");
  for (const target of [victim, join(folder.path, "nowhere")]) {
    await rm(path);
    await symlink(target, path);
    await resolveIn(dir, "dpe://h/d");
    assert((await lstat(path)).isFile());
  }
  assertEquals(await readFile(victim, "utf8"), "untouched");
  // A failure or a timeout leaves no draft behind.
  await rm(path);
  await mkdir(join(path, "in the way"), { recursive: true });
  await assertRejects(() => resolveIn(dir, "dpe://h/d"));
  const late = AbortSignal.abort(new Error("too late"));
  const contents = [{ text: "{}" }];
  await assertRejects(
    () => resolveIn(dir, "dpe://h/e", contents, late),
    Error,
    "too late",
  );
  assertEquals((await readdir(dir)).length, HOSTILE.length + 1);
  assertEquals((await readdir(folder.path)).toSorted(), ["a", "victim"]);
  assertEquals(await readdir(join(folder.path, "a")), ["b"]);
});
