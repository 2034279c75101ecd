import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import process from "node:process";
import { fromBase64, sha256, toBase64 } from "../../../agent/bytes.ts";
import { openSource } from "../../../agent/put_file.ts";
import { sha256 as expected, someBytes } from "../../support/blob_script.ts";

/** Runs as where there are no modules of Node, such as in browsers. */
async function inBrowser(work: () => void | Promise<void>): Promise<void> {
  const { getBuiltinModule } = process;
  Object.assign(process, { getBuiltinModule: undefined });
  try {
    await work();
  } finally {
    Object.assign(process, { getBuiltinModule });
  }
}

Deno.test("toBase64(), fromBase64() and sha256() give the same in browsers", async () => {
  const check = async () => {
    for (const size of [0, 1, 2, 3, 24_576, 24_577, 300_000]) {
      const whole = someBytes(size + 5);
      const bytes = whole.subarray(5); // not at the start of its buffer
      const base64 = Buffer.from(bytes).toString("base64");
      assertEquals(toBase64(bytes), base64);
      const decoded = fromBase64(base64);
      assertEquals(decoded && new Uint8Array(decoded), bytes);
      const digest = sha256();
      digest.update(bytes.subarray(0, size >> 1));
      digest.update(bytes.subarray(size >> 1));
      assertEquals(await digest.hex(), expected(bytes));
    }
  };
  await check();
  await inBrowser(check);
});

Deno.test("openSource() takes no path where there is no file system, but a Blob", () =>
  inBrowser(async () => {
    const failed = await openSource("a.txt").catch(({ message }) => message);
    assertEquals(
      failed,
      "Cannot open a path here; give the file as a Blob",
    );
    const source = await openSource(new Blob(["hello"]));
    assertEquals(
      new TextDecoder().decode(await source.read(1, 10)),
      "ello",
    );
  }));
