/**
 * The first ten minutes of `docs/getting-started.md` on Node: the same commands, from the npm tarball.
 *
 * @module
 */
import { assert } from "@std/assert";
import { delimiter, dirname } from "node:path";
import { play, transcriptOf } from "../docs/support/play.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import { npmPackages } from "../../tools/npm/npm_package.ts";
import { run } from "../../tools/process.ts";

const page = await Deno.readTextFile(
  new URL("../../docs/getting-started.md", import.meta.url),
);
/** As in that page's table of short names. */
const steps = transcriptOf(
  page.replaceAll(
    /deno run -A (?:~|\/home\/you)\/a2c-smcp\/(agent|computer)\/main\.ts/g,
    "npx -p @a2c-smcp/cli smcp-$1",
  ).replaceAll(
    /deno run -A (?:~|\/home\/you)\/a2c-smcp\/mod\.ts/g,
    "npx -p @a2c-smcp/cli smcp",
  ),
);

const folder = await Deno.makeTempDir({ prefix: "smcp-tarball-" });
let tarball = "";

Deno.test.beforeAll(async () => {
  tarball = (await npmPackages(folder)).cli;
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

for (const version of NODE_VERSIONS) {
  Deno.test({
    name: `Node ${version} runs the first ten minutes after npm install`,
    timeout: 600_000,
    fn: async () => {
      assert(steps.length < 6); // npm install is one more
      await play(steps, async ({ folder }) => {
        await run("npm", ["install", "--prefer-offline", tarball], folder);
        const node = await findNode(version);
        const path = Deno.env.get("PATH") ?? "";
        return {
          PATH: node === "node" ? path : `${dirname(node)}${delimiter}${path}`,
        };
      });
    },
  });
}
