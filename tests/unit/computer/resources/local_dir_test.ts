import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  localDirResolver,
  type ResourceContents,
} from "../../../../computer/mod.ts";
import { scratch } from "../../../support/scratch.ts";

const resolveIn = async (
  dir: string,
  uri: string,
  contents: ResourceContents[] = [{ text: "{}" }],
  signal: AbortSignal = new AbortController().signal,
) => {
  const answer = await localDirResolver(dir).resolve(uri, contents, {
    mcp_server_name: "docs",
    signal,
  });
  return { ...answer, path: fileURLToPath(answer.uri) };
};

Deno.test("localDirResolver() writes a document, and creates the directory", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "not", "there yet");
  const { path, ...answer } = await resolveIn(dir, "dpe://h/report", [
    { text: '{"é":1}', mimeType: "application/json" },
  ]);
  assertEquals(dirname(path), dir);
  assertEquals(await readFile(path, "utf8"), '{"é":1}');
  assertEquals([answer.mime_type, answer.size], ["application/json", 8]);
});

Deno.test("localDirResolver() writes bytes unchanged", async () => {
  await using folder = await scratch();
  const { path } = await resolveIn(folder.path, "dpe://h/image", [
    { blob: btoa("\x00\xff\x80"), mimeType: "image/png" },
  ]);
  assert(path.endsWith(".png"));
  assertEquals([...await readFile(path)], [0, 255, 128]);
});

Deno.test("localDirResolver() writes the parts of a manifest, and links them in it", async () => {
  await using folder = await scratch();
  const { path } = await resolveIn(folder.path, "dpe://h/d", [
    {
      text: JSON.stringify({
        pages: [
          { page_index: 0, uri: "dpe://h/d/pages/0" },
          { page_index: 1, uri: "dpe://h/d/pages/1" },
        ],
      }),
    },
    { uri: "dpe://h/d/pages/0", text: "zero" },
    { uri: "dpe://h/d/pages/1", text: "one" },
  ]);
  const { pages } = JSON.parse(await readFile(path, "utf8"));
  const texts = await Promise.all(
    pages.map(({ uri }: { uri: string }) => readFile(new URL(uri), "utf8")),
  );
  assertEquals(texts, ["zero", "one"]);
  assertEquals((await readdir(folder.path)).length, 3, "and nothing else");
});

Deno.test("localDirResolver() replaces a document that it resolves again", async () => {
  await using folder = await scratch();
  await resolveIn(folder.path, "dpe://h/d", [{
    text: "old",
    mimeType: "text/plain",
  }]);
  const { path } = await resolveIn(folder.path, "dpe://h/d", [
    { text: "new", mimeType: "text/plain" },
  ]);
  assertEquals(await readdir(folder.path), [basename(path)]);
  assertEquals(await readFile(path, "utf8"), "new");
});

Deno.test("localDirResolver() writes nothing outside its directory, whatever the URI (spec §8.3)", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "a", "b");
  const uris = [
    "dpe://h/..",
    "dpe://h/%2e%2e/%2e%2e/x",
    "dpe://h/..%2f..%2fx",
    "dpe://h/%2Fetc%2Fpasswd",
    "dpe://../..",
    "dpe://h/a%00b",
    "dpe://h/CON",
    `dpe://h/${"long/".repeat(2_000)}x`,
    `dpe://h/${"x".repeat(9_999)}`,
  ];
  for (const uri of uris) {
    assertEquals(dirname((await resolveIn(dir, uri)).path), dir);
  }
  assertEquals(await readdir(folder.path), ["a"]);
  assertEquals(await readdir(join(folder.path, "a")), ["b"]);
  assertEquals((await readdir(dir)).length, uris.length);
});

Deno.test("localDirResolver() replaces a link in its place instead of following it", async () => {
  await using folder = await scratch();
  const dir = join(folder.path, "dir");
  const victim = join(folder.path, "victim");
  await writeFile(victim, "untouched");
  const { path } = await resolveIn(dir, "dpe://h/d");
  for (const target of [victim, join(folder.path, "nowhere")]) {
    await rm(path);
    await symlink(target, path);
    await resolveIn(dir, "dpe://h/d", [{ text: "{}" }]);
    assert((await lstat(path)).isFile());
  }
  assertEquals(await readFile(victim, "utf8"), "untouched");
  assertEquals((await readdir(folder.path)).toSorted(), ["dir", "victim"]);
});

Deno.test("localDirResolver() leaves no draft behind after a failure or a timeout", async () => {
  await using folder = await scratch();
  const { path } = await resolveIn(folder.path, "dpe://h/d");
  await rm(path);
  await mkdir(join(path, "in the way"), { recursive: true });
  await assertRejects(() => resolveIn(folder.path, "dpe://h/d"));
  await assertRejects(
    () =>
      resolveIn(
        folder.path,
        "dpe://h/e",
        [{ text: "{}" }],
        AbortSignal.abort(new Error("too late")),
      ),
    Error,
    "too late",
  );
  assertEquals(await readdir(folder.path), [basename(path)]);
});
