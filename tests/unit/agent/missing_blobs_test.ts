import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { refuseMissingBlobs } from "../../../agent/tools/missing_blobs.ts";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";

const META = { a2c_blob_handle: "h", a2c_total_size: 102_400, a2c_sha256: "s" };

Deno.test("refuseMissingBlobs() returns an error for content that was left out", () => {
  const rows: [item: CallToolResult["content"][number], told: string][] = [
    [
      { type: "image", data: "", mimeType: "image/png", _meta: META },
      "content[1] (image, image/png, 102400 bytes)",
    ],
    [
      { type: "audio", data: "", mimeType: "audio/wav", meta: META },
      "content[1] (audio, audio/wav, 102400 bytes)",
    ],
    [
      {
        type: "resource",
        resource: { uri: "x:1", blob: "", mimeType: "application/pdf" },
        _meta: META,
      },
      "content[1] (resource, application/pdf, 102400 bytes)",
    ],
    [
      {
        type: "resource",
        resource: { uri: "x:1", _meta: { a2c_blob_handle: "h" } },
      },
      "content[1] (resource)",
    ],
  ];
  for (const [item, told] of rows) {
    const result = refuseMissingBlobs({
      content: [{ type: "text", text: "a" }, item],
    });
    assertEquals([result.isError, resultMeta(result).error_code], [true, 4003]);
    assert(result.content[0]?.text?.includes(told), result.content[0]?.text);
  }
});

Deno.test("refuseMissingBlobs() passes content that is present, and content that was always empty", () => {
  const results: CallToolResult[] = [
    { content: [] },
    { content: [{ type: "image", data: "", mimeType: "image/png" }] },
    {
      content: [{ type: "image", mimeType: "a/b", data: "AAAA", _meta: META }],
    },
    {
      content: [{
        type: "resource",
        resource: { uri: "x:1", blob: "AAAA" },
        _meta: META,
      }],
    },
    {
      content: [{
        type: "image",
        mimeType: "a/b",
        data: "",
        _meta: { a2c_blob_handle: 5 },
      }],
      _meta: META,
    },
  ];
  for (const result of results) {
    assertStrictEquals(refuseMissingBlobs(result), result);
  }
});
