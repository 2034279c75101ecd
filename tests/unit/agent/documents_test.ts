import { assert, assertEquals, assertRejects } from "@std/assert";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  DocumentError,
  type DocumentHandler,
  DocumentSource,
  fetchText,
} from "../../../agent/document_source.ts";
import { OpenDocument, toMarkdown } from "../../../agent/document.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";

const URI = "dpe://h/doc";

const element = (element_id: string, text: string) => ({
  element_id,
  category: "Text",
  text,
});

const document = (...pages: Record<string, unknown>[]) => ({
  doc_ref: "doc",
  uri: URI,
  title: "The document",
  pages: pages.map((page, page_index) => ({ page_index, ...page })),
});

/** An HTTP storage; unknown files are answered with 404. */
function startStorage(files: Record<string, unknown>) {
  const requests: string[] = [];
  const server = Deno.serve({ port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname, search } = new URL(url);
    requests.push(pathname + search);
    const found = files[pathname + search];
    if (typeof found === "number") return new Response("", { status: found });
    if (found === undefined) return new Response("no", { status: 404 });
    return new Response(
      typeof found === "string" ? found : JSON.stringify(found),
    );
  });
  return {
    at: `http://localhost:${server.addr.port}`,
    files,
    requests,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Opens `URI`; the Computer answers with the listed addresses in turn. */
function open(
  places: string[],
  over: {
    handlers?: Record<string, DocumentHandler>;
    session?: () => unknown;
    timeoutMs?: number;
  } = {},
): Promise<OpenDocument> & { asked: string[] } {
  const asked: string[] = [];
  const source = new DocumentSource(URI, {
    getDpe: (uri) => {
      asked.push(uri);
      const at = places[Math.min(asked.length, places.length) - 1] ?? "";
      return Promise.resolve({ uri: at, req_id: "r" });
    },
    handlers: over.handlers ?? {},
    timeoutMs: over.timeoutMs ?? 60_000,
  });
  const session = over.session ?? (() => "one");
  return Object.assign(OpenDocument.open(source, session, {}), { asked });
}

Deno.test("an opened document has info, pages and elements", async () => {
  await using storage = startStorage({
    "/doc": {
      ...document(
        { title: "One", elements: [element("a", "first")] },
        { elements: [element("b", "second"), element("c", "third")] },
      ),
      summary: "S",
    },
  });
  const opened = await open([`${storage.at}/doc`]);
  assertEquals(opened.uri, URI);
  assertEquals(opened.info, {
    doc_ref: "doc",
    uri: URI,
    title: "The document",
    summary: "S",
  });
  assertEquals(opened.pageIndexes, [0, 1]);
  assertEquals(await opened.page(0), {
    page_index: 0,
    title: "One",
    elements: [element("a", "first")],
  });
  assertEquals(await opened.element("c"), element("c", "third"));
  assertEquals(storage.requests, ["/doc"]);
});

Deno.test("a manifest fetches a page, relative or absolute, only when it is read", async () => {
  await using storage = startStorage({
    "/docs/doc.json": document(
      { title: "One", uri: "pages/0" },
      { uri: "/elsewhere" },
    ),
    "/docs/pages/0": { page_index: 0, elements: [element("a", "first")] },
    "/elsewhere": { page_index: 1, title: "Two", elements: [] },
  });
  const opened = await open([`${storage.at}/docs/doc.json`]);
  assertEquals(storage.requests, ["/docs/doc.json"]);
  assertEquals<unknown>(await opened.page(1), {
    page_index: 1,
    title: "Two",
    elements: [],
  });
  assertEquals<unknown>(await opened.page(0), {
    page_index: 0,
    title: "One",
    elements: [element("a", "first")],
  });
  assertEquals(storage.requests.slice(1), ["/elsewhere", "/docs/pages/0"]);
});

Deno.test("a page with a dpe: URI is requested from the Computer", async () => {
  await using storage = startStorage({
    "/doc": document({ uri: "dpe://h/doc/pages/0" }),
    "/page": { page_index: 0, elements: [element("a", "x")] },
  });
  const opening = open([`${storage.at}/doc`, `${storage.at}/page`]);
  const opened = await opening;
  assertEquals((await opened.page(0)).elements, [element("a", "x")]);
  assertEquals(opening.asked, [URI, "dpe://h/doc/pages/0"]);
});

Deno.test("a stale URI is requested again once: 403, 404, 410 (spec §8.3)", async () => {
  for (const stale of [403, 404, 410]) {
    await using storage = startStorage({
      "/old": stale,
      "/new": document({ elements: [] }),
    });
    const opening = open([`${storage.at}/old`, `${storage.at}/new`]);
    assertEquals((await opening).pageIndexes, [0]);
    assertEquals(opening.asked, [URI, URI]);
  }
});

Deno.test("a stale page resolves the document again", async () => {
  await using storage = startStorage({
    "/1": document({ uri: "page?sign=1" }),
    "/2": document({ uri: "page?sign=2" }),
    "/page?sign=1": 403,
    "/page?sign=2": { page_index: 0, elements: [element("a", "x")] },
  });
  const opening = open([`${storage.at}/1`, `${storage.at}/2`]);
  const opened = await opening;
  assertEquals((await opened.page(0)).elements, [element("a", "x")]);
  assertEquals(opening.asked, [URI, URI]);
});

Deno.test("a document or page that is still missing is 4201", async () => {
  await using storage = startStorage({ "/doc": document({ uri: "page" }) });
  const opening = open([`${storage.at}/none`]);
  const error = await assertRejects(() => opening, ProtocolError);
  assertEquals(error.code, ErrorCode.DOCUMENT_NOT_FOUND);
  assertEquals(opening.asked.length, 2);
  const opened = await open([`${storage.at}/doc`]);
  const missing = await assertRejects(() => opened.page(0), ProtocolError);
  assertEquals(missing.code, ErrorCode.DOCUMENT_NOT_FOUND);
});

Deno.test("a page or element that is not in the document is 4202 and 4203", async () => {
  await using storage = startStorage({ "/doc": document({ elements: [] }) });
  const opened = await open([`${storage.at}/doc`]);
  const page = await assertRejects(() => opened.page(1), ProtocolError);
  assertEquals(page.code, ErrorCode.PAGE_OUT_OF_RANGE);
  const none = await assertRejects(() => opened.element("x"), ProtocolError);
  assertEquals(none.code, ErrorCode.ELEMENT_NOT_FOUND);
});

Deno.test("URIs are not used beyond their session: the document is resolved again (spec §8.3)", async () => {
  await using storage = startStorage({
    "/1": document({ uri: "/old" }),
    "/2": document({ uri: "/new" }),
    "/old": { page_index: 0, elements: [element("a", "old")] },
    "/new": { page_index: 0, elements: [element("a", "new")] },
  });
  let session = 1;
  const opening = open([`${storage.at}/1`, `${storage.at}/2`], {
    session: () => session,
  });
  const opened = await opening;
  assertEquals((await opened.element("a")).text, "old");
  session = 2;
  assertEquals((await opened.element("a")).text, "new");
  assertEquals((await opened.element("a")).text, "new");
  assertEquals(opening.asked.length, 2);
});

Deno.test("invalid JSON and invalid documents are errors that name the field, without its content", async () => {
  await using storage = startStorage({
    "/text": "root:x:0:0:secret",
    "/shape": { ...document(), title: 7 },
    "/page": document({ elements: [{ element_id: "e" }] }),
    "/manifest": document({ uri: "empty" }),
    "/empty": { page_index: 0, uri: "again" },
  });
  const rows: [string, why: string][] = [
    ["/text", `Cannot read ${URI}: it is not JSON`],
    ["/shape", "title"],
    ["/page", "pages.0.elements.0.category"],
    ["/manifest", "the JSON of page 0 has no elements"],
  ];
  for (const [path, why] of rows) {
    const error = await assertRejects(
      async () => await (await open([storage.at + path])).page(0),
      DocumentError,
      why,
    );
    assertEquals(error.code, "invalid");
    assert(!error.message.includes("secret"), error.message);
    assert(!error.message.includes(storage.at), error.message);
  }
});

Deno.test("other failures of the storage are not stale, and their errors contain no signature", async () => {
  await using storage = startStorage({ "/doc?sign=geheim": 500 });
  const dead = { at: "http://127.0.0.1:1" }; // a port that nobody is given
  for (const at of [storage.at, dead.at]) {
    const opening = open([`${at}/doc?sign=geheim`]);
    const error = await assertRejects(() => opening, DocumentError);
    assertEquals(error.code, "unreachable");
    assert(!Deno.inspect(error).includes("geheim"), Deno.inspect(error));
    assertEquals(opening.asked.length, 1);
  }
});

Deno.test("a storage that does not answer is aborted by the timeout or the signal", async () => {
  const hang: DocumentHandler = (_uri, { signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  const late = open(["s3://b/k"], { handlers: { s3: hang }, timeoutMs: 10 });
  const error = await assertRejects(() => late, DocumentError);
  assertEquals(error.code, "unreachable");
  const abort = new AbortController();
  const given = fetchText("s3://b/k", { s3: hang }, abort.signal);
  abort.abort(new Error("stopped"));
  await assertRejects(() => given, Error, "stopped");
});

Deno.test("a handler that ignores its signal is abandoned at the timeout or the signal", async () => {
  const answer = Promise.withResolvers<string>();
  const deaf: DocumentHandler = () => answer.promise;
  const late = open(["s3://b/k"], { handlers: { s3: deaf }, timeoutMs: 10 });
  const error = await assertRejects(
    () => late,
    DocumentError,
    "no answer within 0.01 s",
  );
  assertEquals(error.code, "unreachable");
  const abort = new AbortController();
  const given = fetchText("s3://b/k", { s3: deaf }, abort.signal);
  abort.abort(new Error("stopped"));
  await assertRejects(() => given, Error, "stopped");
  answer.reject(new Error("ignored"));
});

Deno.test("other schemes use their handler; without one, an error is thrown", async () => {
  const handlers = {
    mem: (uri: string) =>
      Promise.resolve(
        uri === "mem://store/doc"
          ? JSON.stringify(document({ uri: "page" }))
          : uri === "mem://store/page"
          ? JSON.stringify({ page_index: 0, elements: [] })
          : undefined,
      ),
  };
  const opened = await open(["MEM://store/doc"], {
    handlers: {
      ...handlers,
      mem: (uri) => handlers.mem(uri.replace("MEM", "mem")),
    },
  });
  assertEquals((await opened.page(0)).elements, []);
  const error = await assertRejects(
    () => open(["ftp://h/doc"]),
    DocumentError,
    "Cannot fetch a ftp: URI",
  );
  assertEquals(error.code, "unsupported");
  await assertRejects(() => open(["constructor://h/x"]), DocumentError);
});

Deno.test("files are read; a missing one is stale, a directory and a device are errors", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2c-doc-"));
  try {
    const file = join(folder, "a b#c.json");
    await writeFile(file, JSON.stringify(document({ uri: "p%230" })));
    await writeFile(
      join(folder, "p#0"),
      JSON.stringify({ page_index: 0, elements: [element("a", "é")] }),
    );
    const at = pathToFileURL(file).href;
    const opening = open([`${at}.gone`, at]);
    assertEquals((await (await opening).page(0)).elements, [element("a", "é")]);
    assertEquals(opening.asked.length, 2);
    for (const uri of [pathToFileURL(folder).href, "file:///dev/zero"]) {
      await assertRejects(() => open([uri]), DocumentError, "it is not a file");
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("a remote document cannot make the Agent read a local file", async () => {
  await using storage = startStorage({
    "/doc": document({ uri: "file:///etc/passwd" }),
  });
  const opened = await open([`${storage.at}/doc`]);
  const error = await assertRejects(() => opened.page(0), DocumentError);
  assertEquals(error.code, "unsupported");
});

Deno.test("toMarkdown() formats known categories, and writes others as plain text", () => {
  const of = (category: string, text: string) => ({
    element_id: "e",
    category,
    text,
  });
  const markdown = toMarkdown({ title: "A\n report", summary: "In short" }, [
    {
      page_index: 0,
      title: "Page",
      elements: [
        of("Title", "Head\nline"),
        of("list-item", "one\ntwo"),
        of("ListItem", "three"),
        of("CodeSnippet", "a ``` b"),
        of("Formula", "x^2"),
        of("Image", "a cat"),
        of("Quote", "to be\nor not"),
        of("NeverHeardOf", "plain *text*"),
        of("Table", "| a | b |\n| - | - |"),
        of("Text", "  "),
        { element_id: "s", category: "Chart", summary: "it rises" },
        { element_id: "c", category: "x", content: { text: "inside" } },
        { element_id: "n", category: "x" },
      ],
    },
    { page_index: 1, elements: [of("constructor", "last")] },
  ]);
  assertEquals(
    markdown,
    `# A report

> In short

## Page

### Head line

- one
  two

- three

\`\`\`\`
a \`\`\` b
\`\`\`\`

$$
x^2
$$

[Image: a cat]

> to be
> or not

plain *text*

| a | b |
| - | - |

it rises

inside

last
`,
  );
});

Deno.test("an opened document is converted to Markdown with its lazy pages", async () => {
  await using storage = startStorage({
    "/doc": document({ uri: "0" }, { elements: [element("b", "second")] }),
    "/0": { page_index: 0, title: "One", elements: [element("a", "first")] },
  });
  assertEquals(
    await (await open([`${storage.at}/doc`])).toMarkdown(),
    "# The document\n\n## One\n\nfirst\n\nsecond\n",
  );
});
