import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What the first start of a Computer may download, in bytes. */
const MAX_FETCHED = 80_000_000;

Deno.test("the first start of a Computer in a clone fetches at most 80 MB", async () => {
  const cache = await Deno.makeTempDir({ prefix: "smcp-cache-" });
  try {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["cache", "--quiet", "--frozen", "computer/main.ts"],
      cwd: root,
      env: { DENO_DIR: cache },
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const fetched = await sizeOf(cache);
    assert(fetched <= MAX_FETCHED, `${fetched} bytes`);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
});

/** Returns the size of the files in a folder and in those in it, in bytes. */
async function sizeOf(folder: string): Promise<number> {
  let size = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    size += isDirectory ? await sizeOf(path) : (await Deno.stat(path)).size;
  }
  return size;
}
