import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { BlobStore } from "../../../../computer/blobs/store.ts";
import { moveOut } from "../../../../computer/tools/results.ts";

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
