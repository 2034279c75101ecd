import { assert, assertEquals } from "@std/assert";
import {
  COMMON_PARTS,
  COMPUTER_PARTS,
  SERVER_PARTS,
} from "../../../console/assets.ts";
import { ASSETS_MODULE, assetsModule } from "../../../tools/console/assets.ts";

const ASSETS = { ...COMMON_PARTS, ...SERVER_PARTS, ...COMPUTER_PARTS };

/** What all parts of the pages together may take on their way, as gzip. */
const MAX_BYTES = 35_000;

Deno.test("the parts of the pages are those of their sources (deno task build:console)", async () => {
  assertEquals(await Deno.readTextFile(ASSETS_MODULE), await assetsModule());
});

Deno.test(`all parts of the pages together have less than ${MAX_BYTES} bytes`, async () => {
  const all = new Blob(Object.values(ASSETS)).stream()
    .pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(all).arrayBuffer();
  assert(byteLength > 5000 && byteLength < MAX_BYTES, String(byteLength));
});

Deno.test("the pages load nothing from elsewhere, and make no markup of text", () => {
  for (const [name, text] of Object.entries(ASSETS)) {
    for (const [, from = ""] of text.matchAll(/\bfrom\s*"([^"]+)"/g)) {
      assert(/^\.{1,2}\//.test(from), `${name} imports ${from}`);
      const path = new URL(from, `http://x/${name}`).pathname.slice(1);
      assert(Object.hasOwn(ASSETS, path), `${name} imports ${from}`);
    }
    const markup =
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/;
    assert(!markup.test(text), `${name} makes markup`);
    assert(!/@import url|url\(["']?http/.test(text), name);
  }
});
