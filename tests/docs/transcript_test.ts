/**
 * The first tool call of the README and the first ten minutes of `docs/getting-started.md`, as they
 * are written: the one from an empty folder, the other from somebody's configuration of Claude
 * Desktop.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { withVersions } from "../support/computer/reference_servers.ts";
import { exampleCode } from "./support/blocks.ts";
import { isServing, play, transcriptOf } from "./support/play.ts";

const transcriptIn = async (page: string) =>
  transcriptOf(
    await Deno.readTextFile(new URL(`../../${page}`, import.meta.url)),
  );
const firstCall = await transcriptIn("README.md");
const steps = await transcriptIn("docs/getting-started.md");

Deno.test("the transcript has at most six commands", () => {
  assert(steps.length > 3 && steps.length <= 6, `${steps.length}`);
  assertEquals(steps.filter(({ command }) => isServing(command)).length, 1);
});

Deno.test({
  name:
    "the transcript of the README: from an empty folder and its configuration to a tool call",
  timeout: 600_000,
  fn: async () => {
    assertEquals(firstCall.length, 2);
    const configuration = await exampleCode("configuration", "README");
    await play(firstCall, async ({ folder }) => {
      const file = `${folder}/computer.json`;
      await Deno.writeTextFile(file, withVersions(configuration));
      return {};
    });
  },
});

Deno.test({
  name:
    "the first ten minutes: from an empty folder and Claude Desktop's configuration to a tool call",
  timeout: 600_000,
  fn: () => play(steps),
});
