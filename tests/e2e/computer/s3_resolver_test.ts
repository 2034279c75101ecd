import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type ResourceContents,
  s3Resolver,
  type S3ResolverOptions,
} from "../../../computer/mod.ts";
import { startS3 } from "../../support/computer/s3.ts";

// Async, so that a resolver that throws rejects.
const resolve = async (
  options: S3ResolverOptions,
  uri: string,
  contents: ResourceContents[] = [{ text: "x" }],
  signal: AbortSignal = new AbortController().signal,
) =>
  await s3Resolver(options).resolve(uri, contents, {
    mcp_server_name: "docs",
    signal,
  });

async function get(uri: string) {
  const { status, headers, body } = await fetch(uri);
  const text = await new Response(body).text();
  return { status, type: headers.get("content-type"), text };
}

const OPTIONS = {
  endpoint: "https://s3.example.com",
  bucket: "b",
  region: "auto",
  accessKeyId: "id",
  secretAccessKey: "key",
};

Deno.test("s3Resolver() uploads to a real storage, and presigns the objects (protocol §8.3)", async (t) => {
  await using server = await startS3();
  const storage = { ...server, region: "us-east-1" };

  await t.step("text and bytes, with their types and sizes", async () => {
    const json = { text: '{"é":1}', mimeType: "application/json" };
    const answer = await resolve(storage, "dpe://h/report", [json]);
    const { status, type, text } = await get(answer.uri);
    assertEquals([status, type, text], [200, json.mimeType, json.text]);
    assertEquals([answer.mime_type, answer.size], ["application/json", 8]);
    const { uri } = await resolve(storage, "dpe://h/image", [
      { blob: btoa("\x00\xff\x80"), mimeType: "image/png" },
    ]);
    const image = await fetch(uri);
    assertEquals(image.headers.get("content-type"), "image/png");
    assertEquals([...await image.bytes()], [0, 255, 128]);
  });

  await t.step("a manifest whose pages are objects too", async () => {
    const uris = Array.from({ length: 20 }, (_, i) => `dpe://h/d/pages/${i}`);
    const manifest = {
      pages: uris.map((uri, page_index) => ({ page_index, uri })),
    };
    const { uri } = await resolve(storage, "dpe://h/d", [
      { text: JSON.stringify(manifest) },
      ...uris.map((uri) => ({ uri, text: `text of ${uri}` })),
    ]);
    const { pages } = JSON.parse((await get(uri)).text);
    const texts = [];
    for (const page of pages) texts.push((await get(page.uri)).text);
    assertEquals(texts, uris.map((uri) => `text of ${uri}`));
  });

  await t.step(
    "only signed objects can be fetched, until it expires",
    async () => {
      const options = { ...storage, expiresInMs: 77_000 };
      const { uri } = await resolve(options, "dpe://h/secret");
      const signed = new URL(uri);
      assertEquals(signed.searchParams.get("X-Amz-Expires"), "77");
      signed.searchParams.set("X-Amz-Expires", "600000");
      assertEquals((await get(signed.href)).status, 403);
    },
  );

  await t.step("under a prefix, whatever the URI tries", async () => {
    const { uri } = await resolve(
      { ...storage, endpoint: `${storage.endpoint}/`, prefix: "docs v1/é+/" },
      "dpe://h/..%2F..%2Fother-bucket%2Fx",
      [{ text: "inside" }],
    );
    const { pathname } = new URL(uri);
    assert(pathname.startsWith("/documents/docs%20v1/%C3%A9%2B/h-"), uri);
    assertEquals((await get(uri)).text, "inside");
  });

  await t.step("a refused upload is an error without secrets", async () => {
    const wrong = { ...storage, secretAccessKey: "geheim" };
    const error = await assertRejects(
      () => resolve(wrong, "dpe://h/d"),
      Error,
      "answered the upload",
    );
    assert(!Deno.inspect(error).includes("geheim"));
    await assertRejects(
      () => resolve({ ...storage, bucket: "none" }, "dpe://h/d"),
      Error,
      "with 404",
    );
  });

  await t.step("an aborted request uploads nothing", async () => {
    const late = AbortSignal.abort(new Error("too late"));
    await assertRejects(
      () => resolve(storage, "dpe://h/d", undefined, late),
      Error,
      "too late",
    );
  });
});

Deno.test("s3Resolver() reports an unreachable storage, without its address", async () => {
  // The discard port: nobody listens there.
  const error = await assertRejects(
    () => resolve({ ...OPTIONS, endpoint: "http://127.0.0.1:9" }, "dpe://h/d"),
    Error,
    "the object storage cannot be reached",
  );
  assert(!Deno.inspect(error).includes("127.0.0.1"));
});

Deno.test("s3Resolver() refuses invalid options when it is created", () => {
  s3Resolver(OPTIONS);
  for (const endpoint of ["", "s3.example.com", "ftp://h"]) {
    const options = { ...OPTIONS, endpoint };
    assertThrows(() => s3Resolver(options), TypeError, "endpoint");
  }
  for (const expiresInMs of [0, 604_801_000, 1_500, NaN]) {
    const options = { ...OPTIONS, expiresInMs };
    assertThrows(() => s3Resolver(options), TypeError, "1000 to 604800000");
  }
});
