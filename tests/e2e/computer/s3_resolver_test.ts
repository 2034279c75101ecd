import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type ResourceContents,
  s3Resolver,
  type S3ResolverOptions,
} from "../../../computer/mod.ts";
import { startS3 } from "../../support/computer/s3.ts";

const resolve = (
  options: S3ResolverOptions,
  uri: string,
  contents: ResourceContents[],
  signal: AbortSignal = new AbortController().signal,
) =>
  s3Resolver(options).resolve(uri, contents, {
    mcp_server_name: "docs",
    signal,
  });

async function get(uri: string) {
  const response = await fetch(uri);
  const bytes = await response.bytes();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    bytes: [...bytes],
    text: new TextDecoder().decode(bytes),
  };
}

Deno.test({
  name:
    "s3Resolver() uploads to a real storage, and presigns the objects (spec §8.3)",
  timeout: 120_000,
}, async (t) => {
  await using server = await startS3();
  const storage = { ...server, region: "us-east-1" };

  await t.step("text, with its type and size", async () => {
    const answer = await resolve(storage, "dpe://h/report", [
      { text: '{"é":1}', mimeType: "application/json" },
    ]);
    const { status, type, text } = await get(answer.uri);
    assertEquals([status, type, text], [200, "application/json", '{"é":1}']);
    assertEquals([answer.mime_type, answer.size], ["application/json", 8]);
  });

  await t.step("bytes", async () => {
    const { uri } = await resolve(storage, "dpe://h/image", [
      { blob: btoa("\x00\xff\x80"), mimeType: "image/png" },
    ]);
    const { type, bytes } = await get(uri);
    assertEquals([type, bytes], ["image/png", [0, 255, 128]]);
  });

  await t.step("a manifest whose pages are objects too", async () => {
    const uris = Array.from({ length: 20 }, (_, i) => `dpe://h/d/pages/${i}`);
    const { uri } = await resolve(storage, "dpe://h/d", [
      {
        text: JSON.stringify({
          pages: uris.map((uri, page_index) => ({ page_index, uri })),
        }),
      },
      ...uris.map((uri) => ({ uri, text: `text of ${uri}` })),
    ]);
    const { pages } = JSON.parse((await get(uri)).text);
    const texts = [];
    for (const page of pages) texts.push((await get(page.uri)).text);
    assertEquals(texts, uris.map((uri) => `text of ${uri}`));
  });

  await t.step(
    "only what is signed can be fetched, until it expires",
    async () => {
      const { uri } = await resolve(
        { ...storage, expiresInMs: 77_000 },
        "dpe://h/secret",
        [{ text: "secret" }],
      );
      const signed = new URL(uri);
      assertEquals(signed.searchParams.get("X-Amz-Expires"), "77");
      assert(!uri.includes("secretAccessKey"));
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
    assert(
      new URL(uri).pathname.startsWith("/documents/docs%20v1/%C3%A9%2B/h-"),
      uri,
    );
    assertEquals((await get(uri)).text, "inside");
  });

  await t.step("a refused upload is an error without secrets", async () => {
    const wrong = { ...storage, secretAccessKey: "geheim" };
    const error = await assertRejects(
      async () => await resolve(wrong, "dpe://h/d", [{ text: "x" }]),
      Error,
      "answered the upload",
    );
    assert(!Deno.inspect(error).includes("geheim"));
    await assertRejects(
      async () =>
        await resolve({ ...storage, bucket: "none" }, "dpe://h/d", [
          { text: "x" },
        ]),
      Error,
      "with 404",
    );
  });

  await t.step("an aborted request uploads nothing", async () => {
    await assertRejects(
      async () =>
        await resolve(
          storage,
          "dpe://h/d",
          [{ text: "x" }],
          AbortSignal.abort(new Error("too late")),
        ),
      Error,
      "too late",
    );
  });
});

Deno.test({
  name: "s3Resolver() reports an unreachable storage, without its address",
  timeout: 120_000,
}, async () => {
  const error = await assertRejects(
    async () =>
      await resolve(
        {
          endpoint: "http://127.0.0.1:9", // the discard port: nobody listens there
          bucket: "b",
          region: "auto",
          accessKeyId: "id",
          secretAccessKey: "key",
        },
        "dpe://h/d",
        [{ text: "x" }],
      ),
    Error,
    "the object storage cannot be reached",
  );
  assert(!Deno.inspect(error).includes("127.0.0.1"));
});

Deno.test({
  name: "s3Resolver() refuses invalid options when it is created",
  timeout: 120_000,
}, () => {
  const options = {
    endpoint: "https://s3.example.com",
    bucket: "b",
    region: "auto",
    accessKeyId: "id",
    secretAccessKey: "key",
  };
  s3Resolver(options);
  for (const endpoint of ["", "s3.example.com", "ftp://h"]) {
    assertThrows(
      () => s3Resolver({ ...options, endpoint }),
      TypeError,
      "endpoint",
    );
  }
  for (const expiresInMs of [0, 604_801_000, 1_500, NaN]) {
    assertThrows(
      () => s3Resolver({ ...options, expiresInMs }),
      TypeError,
      "1000 to 604800000",
    );
  }
});
