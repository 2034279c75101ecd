import { assertThrows } from "@std/assert";
import { createSmcpServer } from "../../server/mod.ts";

Deno.test("createSmcpServer() refuses an unknown engine, and an invalid rate", () => {
  const name: unknown = "sotck";
  assertThrows(
    () => createSmcpServer({ wsEngine: name as "stock" }),
    TypeError,
    'wsEngine "sotck": expected "fast" or "stock"',
  );
  for (const minUploadRate of [0, -1, NaN]) {
    assertThrows(
      () => createSmcpServer({ minUploadRate }),
      TypeError,
      `minUploadRate ${minUploadRate}: expected a number above 0`,
    );
  }
});
