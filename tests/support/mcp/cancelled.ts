import { assertEquals } from "@std/assert";

/** Waits for the fixture to say that its call of `slow` was aborted; a call that ran on fails here. */
export async function isCancelled(
  asked: Promise<
    { readonly content: readonly object[]; readonly isError?: unknown }
  >,
): Promise<void> {
  const { content } = await asked;
  assertEquals(content, [{ type: "text", text: "it was aborted" }]);
}
