import { assert, assertEquals, assertRejects } from "@std/assert";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  DocumentError,
  type DocumentHandler,
  fetchText,
} from "../../../agent/document_source.ts";
import { OpenDocument, toMarkdown } from "../../../agent/document.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import { scratch } from "../../support/scratch.ts";

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
    return typeof found === "string"
      ? new Response(found)
      : Response.json(found);
  });
  return {
    at: `http://localhost:${server.addr.port}`,
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
  const opened = OpenDocument.open(URI, {
    getDpe: (uri) => {
      asked.push(uri);
      const at = places[Math.min(asked.length, places.length) - 1] ?? "";
      return Promise.resolve({ uri: at, req_id: "r" });
    },
    handlers: over.handlers ?? {},
    session: over.session ?? (() => "one"),
    timeoutMs: over.timeoutMs ?? 60_000,
  });
  return Object.assign(opened, { asked });
}

const codeOf = async (work: Promise<unknown>) =>
  (await assertRejects(() => work, ProtocolError)).code;

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
  const elements = [element("a", "first")];
  assertEquals(await opened.page(0), { page_index: 0, title: "One", elements });
  assertEquals(await opened.element("c"), element("c", "third"));
  assertEquals(storage.requests, ["/doc"]);
  assertEquals(
    [await codeOf(opened.page(2)), await codeOf(opened.element("x"))],
    [ErrorCode.PAGE_OUT_OF_RANGE, ErrorCode.ELEMENT_NOT_FOUND],
  );
});

Deno.test("a manifest fetches a page, relative, absolute or from the Computer, only when it is read", async () => {
  const page = { page_index: 0, elements: [element("a", "first")] };
  await using storage = startStorage({
    "/docs/doc.json": document(
      { title: "One", uri: "pages/0" },
      { uri: "/elsewhere" },
      { uri: "dpe://h/doc/pages/2" },
      { uri: " dpe://h/doc/pages/3 " },
    ),
    "/docs/pages/0": page,
    "/elsewhere": { page_index: 1, title: "Two", elements: [] },
    "/2": { ...page, page_index: 2 },
    "/3": { ...page, page_index: 3 },
  });
  const opening = open(
    ["docs/doc.json", "2", "3"].map((path) => `${storage.at}/${path}`),
  );
  const opened = await opening;
  assertEquals(storage.requests, ["/docs/doc.json"]);
  assertEquals<unknown[]>(
    [
      await opened.page(1),
      await opened.page(0),
      await opened.page(2),
      await opened.page(3),
    ],
    [
      { page_index: 1, title: "Two", elements: [] },
      { ...page, title: "One" },
      { ...page, page_index: 2 },
      { ...page, page_index: 3 },
    ],
  );
  assertEquals(storage.requests.slice(1), [
    ...["/elsewhere", "/docs/pages/0", "/2", "/3"],
  ]);
  assertEquals(opening.asked, [
    ...[URI, "dpe://h/doc/pages/2", "dpe://h/doc/pages/3"],
  ]);
});

Deno.test("a stale URI is requested again once: 403, 404, 410 (protocol §8.3)", async () => {
  for (const stale of [403, 404, 410]) {
    await using storage = startStorage({
      "/old": stale,
      "/new": document({ elements: [] }),
      "/1": document({ uri: "page?sign=1" }),
      "/2": document({ uri: "page?sign=2" }),
      "/page?sign=1": stale,
      "/page?sign=2": { page_index: 0, elements: [element("a", "x")] },
    });
    const at = (path: string) => storage.at + path;
    const opening = open([at("/old"), at("/new")]);
    assertEquals((await opening).pageIndexes, [0]);
    // A stale page resolves the document again.
    const manifest = open([at("/1"), at("/2")]);
    const { elements } = await (await manifest).page(0);
    assertEquals(elements, [element("a", "x")]);
    assertEquals([opening.asked, manifest.asked], [[URI, URI], [URI, URI]]);
  }
});

Deno.test("a document or page that is still missing is 4201", async () => {
  await using storage = startStorage({ "/doc": document({ uri: "page" }) });
  const opening = open([`${storage.at}/none`]);
  assertEquals(await codeOf(opening), ErrorCode.DOCUMENT_NOT_FOUND);
  assertEquals(opening.asked.length, 2);
  const opened = await open([`${storage.at}/doc`]);
  assertEquals(await codeOf(opened.page(0)), ErrorCode.DOCUMENT_NOT_FOUND);
});

Deno.test("URIs are not used beyond their session: the document is resolved again (protocol §8.3)", async () => {
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
  const texts = [(await opened.element("a")).text];
  session = 2;
  for (const id of ["a", "a"]) texts.push((await opened.element(id)).text);
  assertEquals([texts, opening.asked.length], [["old", "new", "new"], 2]);
});

Deno.test("invalid JSON and invalid documents are errors that name the field, without its content", async () => {
  await using storage = startStorage({
    "/text": "root:x:0:0:secret",
    "/shape": { ...document(), title: 7 },
    "/page": document({ elements: [{ element_id: "e" }] }),
    "/manifest": document({ uri: "empty" }),
    "/empty": { page_index: 0, uri: "again" },
    "/remote": document({ uri: "file:///etc/passwd" }),
  });
  const rows: [path: string, why: string, code: DocumentError["code"]][] = [
    ["/text", `Cannot read ${URI}: it is not JSON`, "invalid"],
    ["/shape", "title", "invalid"],
    ["/page", "pages.0.elements.0.category", "invalid"],
    ["/manifest", "the JSON of page 0 has no elements", "invalid"],
    // A remote document cannot make the Agent read a local file.
    ["/remote", "", "unsupported"],
  ];
  for (const [path, why, code] of rows) {
    const read = async () => (await open([storage.at + path])).page(0);
    const error = await assertRejects(read, DocumentError, why);
    assertEquals(error.code, code);
    assert(!error.message.includes("secret"), error.message);
    assert(!error.message.includes(storage.at), error.message);
  }
});

Deno.test("other failures of the storage are not stale, and their errors contain no signature", async () => {
  await using storage = startStorage({ "/doc?sign=geheim": 500 });
  const dead = "http://127.0.0.1:1"; // a port that nobody is given
  for (const at of [storage.at, dead]) {
    const opening = open([`${at}/doc?sign=geheim`]);
    const error = await assertRejects(() => opening, DocumentError);
    assertEquals([error.code, opening.asked.length], ["unreachable", 1]);
    assert(!Deno.inspect(error).includes("geheim"), Deno.inspect(error));
  }
});

Deno.test("a storage that does not answer is aborted by the timeout or the signal, one that ignores them is abandoned", async () => {
  const answer = Promise.withResolvers<string>();
  const hang: DocumentHandler = (_uri, { signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason))
    );
  const deaf: DocumentHandler = () => answer.promise;
  for (const s3 of [hang, deaf]) {
    const late = open(["s3://b/k"], { handlers: { s3 }, timeoutMs: 10 });
    const error = await assertRejects(() => late, DocumentError, "0.01 s");
    assertEquals(error.code, "unreachable");
    const abort = new AbortController();
    const given = fetchText("s3://b/k", { s3 }, abort.signal);
    abort.abort(new Error("stopped"));
    await assertRejects(() => given, Error, "stopped");
  }
  answer.reject(new Error("ignored"));
});

Deno.test("other schemes use their handler; without one, an error is thrown", async () => {
  const files: Record<string, unknown> = {
    "MEM://store/doc": document({ uri: "page" }),
    "mem://store/page": { page_index: 0, elements: [] },
  };
  const mem = (uri: string) => Promise.resolve(JSON.stringify(files[uri]));
  const opened = await open(["MEM://store/doc"], { handlers: { mem } });
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
  await using folder = await scratch();
  const file = join(folder.path, "a b#c.json");
  await writeFile(file, JSON.stringify(document({ uri: "p%230" })));
  const page = { page_index: 0, elements: [element("a", "é")] };
  await writeFile(join(folder.path, "p#0"), JSON.stringify(page));
  const at = pathToFileURL(file).href;
  const opening = open([`${at}.gone`, at]);
  assertEquals((await (await opening).page(0)).elements, page.elements);
  assertEquals(opening.asked.length, 2);
  for (const uri of [pathToFileURL(folder.path).href, "file:///dev/zero"]) {
    await assertRejects(() => open([uri]), DocumentError, "it is not a file");
  }
});

Deno.test("a document of up to 64 MiB is read; a larger one is an error, over HTTP too", async () => {
  const MAX_BYTES = 64 * 1024 * 1024;
  await using folder = await scratch();
  const file = join(folder.path, "large");
  await using storage = startStorage({ "/large": "x".repeat(MAX_BYTES + 1) });
  const { signal } = new AbortController();
  const { href } = pathToFileURL(file);
  await writeFile(file, "");
  await Deno.truncate(file, MAX_BYTES);
  assertEquals((await fetchText(href, {}, signal))?.length, MAX_BYTES);
  await Deno.truncate(file, MAX_BYTES + 1);
  for (const at of [`${storage.at}/large`, href]) {
    const read = () => fetchText(at, {}, signal);
    await assertRejects(read, DocumentError, "larger than 67108864 bytes");
  }
});

Deno.test("every method of an opened document refuses a misspelled option", async () => {
  await using storage = startStorage({ "/doc": document() });
  const opened = await open([`${storage.at}/doc`]);
  const options = { signall: undefined } as object;
  const methods: Record<string, () => Promise<unknown>> = {
    page: () => opened.page(0, options),
    pages: () => opened.pages(options).next(),
    element: () => opened.element("a", options),
    toMarkdown: () => opened.toMarkdown(options),
  };
  for (const [name, call] of Object.entries(methods)) {
    await assertRejects(
      call,
      TypeError,
      `of OpenDocument.${name}(): unknown; did you mean "signal"?`,
    );
  }
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
