import { Buffer } from "node:buffer";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { jsonBytes } from "../../../../client/message_limits.ts";
import { BlobStore } from "../../../../computer/blobs/store.ts";
import {
  limitAnswer,
  limitResult as limitMeasured,
  measureResult,
  moveOut,
} from "../../../../computer/tools/results.ts";
import {
  type CallToolResult,
  ProtocolError,
  resultMeta,
} from "../../../../protocol/mod.ts";

/** Measured, and limited then. */
const limitResult = (result: CallToolResult, maxPayload: number | undefined) =>
  limitMeasured(measureResult(result), maxPayload).result;

const result = (text: string) => ({
  content: [{ type: "text" as const, text }],
});

Deno.test("limitResult() passes results within the limit, and states both sizes of larger ones", () => {
  const fits = result("x".repeat(100));
  assertEquals(limitResult(fits, 1_000), fits);
  assertEquals(limitResult(fits, undefined), fits);
  const limited = limitResult(result("ü".repeat(500)), 1_000);
  assertEquals(limited.isError, true);
  assertEquals(resultMeta(limited), { error_code: 4003 });
  assertStringIncludes(String(limited.content[0]?.text), "1039 bytes");
  assertStringIncludes(String(limited.content[0]?.text), "1000");
});

Deno.test("limitResult() leaves room for the packet around the result", () => {
  const exact = result("x");
  const bytes = JSON.stringify(exact).length;
  assertEquals(limitResult(exact, bytes + 64), exact);
  assertEquals(limitResult(exact, bytes + 63).isError, true);
});

Deno.test("limitResult() refuses a result nested deeper than the limit", () => {
  const nested = (levels: number): Record<string, unknown> =>
    levels === 1 ? {} : { inner: nested(levels - 1) };
  const deep = (levels: number) => ({
    content: [],
    structuredContent: nested(levels - 1),
  });
  assertEquals(limitResult(deep(63), undefined), deep(63));
  assertEquals(limitResult(deep(64), undefined).isError, true);
});

Deno.test("limitAnswer() throws for any other answer that cannot be sent", () => {
  const answer = { tools: [], req_id: "1" };
  assertEquals(limitAnswer(answer, 1_000), answer);
  const error = assertThrows(() => limitAnswer(answer, 10), ProtocolError);
  assertEquals(error.code, 500);
});

Deno.test("jsonBytes() counts bytes, not characters", () => {
  const answer = result("ü€😀");
  const bytes = new TextEncoder().encode(JSON.stringify(answer)).length;
  assertEquals(jsonBytes(answer), bytes);
  assertEquals(measureResult(answer).bytes, bytes);
  assertEquals(jsonBytes({ ...answer, content: [] }), 14);
});

Deno.test("moveOut() keeps every byte of content that is decoded in slices", async () => {
  const maxBytes = 16 * 2 ** 20;
  const store = new BlobStore({
    maxBytes,
    memoryBytes: maxBytes,
    directory: tmpdir(),
  });
  for (const size of [3 * 2 ** 20, 3 * 2 ** 20 + 1, 7_000_000]) {
    const bytes = Buffer.alloc(size, "every byte counts");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const data = bytes.toString("base64");
    const { content } = await moveOut(
      { content: [{ type: "image", mimeType: "image/png", data }] },
      store,
      1_000,
    );
    assertEquals(content[0]?._meta?.a2c_sha256, sha256);
    assertEquals(content[0]?._meta?.a2c_total_size, size);
  }
  await store.close();
});
