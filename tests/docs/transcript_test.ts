/**
 * The first ten minutes of the README, as they are written: from an empty folder and somebody's
 * configuration of Claude Desktop to a tool call.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { isServing, play } from "./support/play.ts";
import { transcriptOf } from "./support/transcript.ts";

const page = await Deno.readTextFile(
  new URL("../../README.md", import.meta.url),
);
const steps = transcriptOf(page);

Deno.test("the transcript has at most six commands", () => {
  assert(steps.length > 3 && steps.length <= 6, `${steps.length}`);
  assertEquals(steps.filter(({ command }) => isServing(command)).length, 1);
});

Deno.test({
  name:
    "the transcript of the README: from an empty folder and Claude Desktop's configuration to a tool call",
  timeout: 600_000,
  fn: () => play(steps),
});
