import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { BlobError, resultMeta } from "../../../agent/mod.ts";
import {
  blobScript,
  type BlobScriptOptions,
  HANDLE,
  leftOut,
  sha256,
  someBytes,
  unknownEvent,
} from "../../support/blob_script.ts";
import { startOffice } from "../../support/office.ts";

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** A whole chunk of other bytes. */
const OTHER_CHUNK = base64(new Uint8Array(262_144));

const image = (bytes: Uint8Array) => ({
  type: "image",
  data: "",
  mimeType: "image/png",
  annotations: null,
  meta: null,
  _meta: leftOut(bytes),
});

/** Calls the tool of a Computer whose image was left out. */
async function callFor(bytes: Uint8Array, options?: BlobScriptOptions) {
  const script = blobScript([image(bytes)], bytes, options);
  await using office = await startOffice({ computers: { pc: script } });
  const result = await office.agent.callTool("pc", "screenshot", {});
  return { result, requests: script.requests };
}

Deno.test("0.4 §7.3: callTool() puts large content back, as an inline result would have it", async () => {
  const bytes = someBytes(600_000);
  const meta = { ...leftOut(bytes), own: 1 };
  const content = [
    { type: "text", text: "here" },
    image(bytes),
    { type: "audio", data: "", mimeType: "audio/wav", _meta: meta },
    {
      type: "resource",
      resource: { uri: "x:1", blob: "", mimeType: "application/pdf" },
      _meta: leftOut(bytes),
    },
    { type: "image", data: "", mimeType: "image/png" },
    { type: "image", data: "AAAA", mimeType: "image/png", _meta: meta },
  ];
  const script = blobScript(content, bytes);
  await using office = await startOffice({ computers: { pc: script } });
  const data = base64(bytes);
  assertEquals(await office.agent.callTool("pc", "screenshot", {}), {
    content: [
      { type: "text", text: "here" },
      {
        type: "image",
        data,
        mimeType: "image/png",
        annotations: null,
        meta: null,
      },
      { type: "audio", data, mimeType: "audio/wav", _meta: { own: 1 } },
      {
        type: "resource",
        resource: { uri: "x:1", blob: data, mimeType: "application/pdf" },
      },
      { type: "image", data: "", mimeType: "image/png" },
      { type: "image", data: "AAAA", mimeType: "image/png", _meta: meta },
    ],
  });
});

Deno.test("0.4 §7.4: callTool() takes chunks of any size, and a resource without bytes", async () => {
  for (const [size, chunk] of [[0, 10], [1, 10], [1_000, 7], [1_000, 500]]) {
    const bytes = someBytes(size as number);
    const { result } = await callFor(bytes, { chunk: chunk as number });
    const [block] = result.content;
    assert(block?.type === "image", JSON.stringify(block));
    assertEquals(block.data, base64(bytes));
    assertEquals(result.isError, undefined);
  }
});

Deno.test("0.4 §7.4: callTool() starts over when the bytes change meanwhile", async () => {
  const bytes = someBytes(600_000);
  const { result, requests } = await callFor(bytes, {
    change: (answer, { chunk_offset }, number) =>
      chunk_offset !== 0 && number < 3
        ? { ...answer, sha256: sha256(new Uint8Array()) }
        : answer,
  });
  const [block] = result.content;
  assert(block?.type === "image");
  assertEquals(block.data, base64(bytes));
  assertEquals(
    requests.filter(({ chunk_offset }) => chunk_offset === 0).length,
    2,
  );
});

Deno.test("0.4 §7.3: callTool() says loudly what it cannot fetch, and why", async () => {
  const bytes = someBytes(600_000);
  const rows: [
    name: string,
    why: string,
    starts: number,
    change: NonNullable<BlobScriptOptions["change"]>,
  ][] = [
    ["changes always", "not the announced ones", 4, (answer, request) => ({
      ...answer,
      total_size: request.chunk_offset === 0 ? 600_000 : 700_000,
      eof: false,
    })],
    ["other bytes", "not the announced ones", 4, (answer, request) => ({
      ...answer,
      ...(request.chunk_offset === 0 && { blob: OTHER_CHUNK }),
    })],
    ["empty before the end", "is empty before the end", 1, (answer) => ({
      ...answer,
      blob: "",
      eof: false,
    })],
    ["another offset", "begins at 5 instead of 0", 1, (answer) => ({
      ...answer,
      chunk_offset: 5,
    })],
    ["more than asked for", "instead of at most 262144", 1, (answer) => ({
      ...answer,
      blob: base64(bytes),
      eof: true,
    })],
    ["a wrong eof", "says that it is the last one", 1, (answer) => ({
      ...answer,
      eof: true,
    })],
    ["another digest", "not the announced ones", 4, (answer) => ({
      ...answer,
      sha256: sha256(new Uint8Array()),
    })],
    ["too large", "openBlob", 1, (answer) => ({
      ...answer,
      total_size: 2 ** 30,
      eof: false,
    })],
    ["gone", "no longer there", 1, () => ({
      code: 4018,
      message: "Blob not accessible: no longer there",
      details: { reason: "gone" },
    })],
    ["an older peer", "update it", 1, () => {
      throw unknownEvent("client:get_blob");
    }],
  ];
  for (const [name, why, starts, change] of rows) {
    const { result, requests } = await callFor(bytes, { change });
    assertEquals(result.isError, true, name);
    assertEquals(resultMeta(result), {
      error_code: 4003,
      a2c_missing_blobs: 1,
    }, name);
    const text = result.content[0]?.text ?? "";
    assertStringIncludes(text, "(image, image/png, 600000 bytes)", name);
    assertStringIncludes(text, why, name);
    assertEquals(
      requests.filter(({ chunk_offset }) => chunk_offset === 0).length,
      starts,
      name,
    );
  }
});

Deno.test("callTool() keeps handles for openBlob(), which streams what they lead to", async () => {
  const bytes = someBytes(3_000_000);
  const script = blobScript([image(bytes)], bytes);
  await using office = await startOffice({ computers: { pc: script } });
  const { agent } = office;
  const kept = await agent.callTool("pc", "screenshot", {}, { blobs: "keep" });
  assertEquals(kept.content, [image(bytes)] as unknown as typeof kept.content);
  assertEquals(script.requests.length, 0);
  const stream = agent.openBlob("pc", HANDLE);
  assertEquals(
    sha256(await new Response(stream as BodyInit).bytes()),
    sha256(bytes),
  );
});

Deno.test("openBlob() stops at a cancel and at an abort, and fails at wrong bytes", async () => {
  const bytes = someBytes(20_000_000);
  const held = Promise.withResolvers<void>();
  let wrong = false;
  const script = blobScript([], bytes, {
    change: async (answer, { chunk_offset = 0 }) => {
      if (chunk_offset > 2_000_000) await held.promise;
      return wrong && chunk_offset === 262_144
        ? { ...answer, blob: OTHER_CHUNK }
        : answer;
    },
  });
  await using office = await startOffice({ computers: { pc: script } });
  const { agent } = office;

  const reader = agent.openBlob("pc", HANDLE).getReader();
  assertEquals((await reader.read()).value?.length, 262_144);
  await reader.cancel();
  const asked = script.requests.length;
  assert(asked <= 5, `${asked} requests`);

  const abort = new AbortController();
  const { signal } = abort;
  const aborted = agent.openBlob("pc", HANDLE, { signal }).getReader();
  for (let i = 0; i < 5; i++) await aborted.read();
  abort.abort(new Error("enough"));
  await assertRejects(
    async () => {
      for (let i = 0; i < 100; i++) await aborted.read();
    },
    Error,
    "enough",
  );
  assert(script.requests.length < 20, `${script.requests.length} requests`);

  wrong = true;
  held.resolve();
  const error = await assertRejects(
    () => new Response(agent.openBlob("pc", HANDLE) as BodyInit).bytes(),
    BlobError,
  );
  assertEquals(error.code, "changed");
});

Deno.test("callTool() rejects when it is aborted while it fetches", async () => {
  const bytes = someBytes(600_000);
  const abort = new AbortController();
  const script = blobScript([image(bytes)], bytes, {
    change: (answer) => {
      abort.abort(new Error("enough"));
      return answer;
    },
  });
  await using office = await startOffice({ computers: { pc: script } });
  const { signal } = abort;
  await assertRejects(
    () => office.agent.callTool("pc", "screenshot", {}, { signal }),
    Error,
    "enough",
  );
});
