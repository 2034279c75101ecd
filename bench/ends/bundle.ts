import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { run } from "../../tools/process.ts";
import type { BundleSize } from "./result.ts";
import { charactersBySource } from "./source_map.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Bundles the Agent for browsers, and measures the share of each package. */
export async function measureBundle(): Promise<BundleSize> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-ends-" });
  try {
    const file = join(folder, "agent.js");
    await run("deno", [
      "bundle",
      "--quiet",
      "--platform",
      "browser",
      "--minify",
      "--sourcemap",
      "external",
      "-o",
      file,
      "agent/mod.ts",
    ], root);
    const bytes = await Deno.readFile(file);
    return {
      minified: bytes.length,
      gzip: gzipSync(bytes, { level: 9 }).length,
      brotli: brotliCompressSync(bytes).length,
      parts: byPackage(
        charactersBySource(
          new TextDecoder().decode(bytes),
          JSON.parse(await Deno.readTextFile(`${file}.map`)),
        ),
      ),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Adds up the bytes of each package, the largest first. */
export function byPackage(
  bySource: ReadonlyMap<string, number>,
): [name: string, characters: number][] {
  const sums = new Map<string, number>();
  for (const [source, characters] of bySource) {
    const name = packageOf(source);
    sums.set(name, (sums.get(name) ?? 0) + characters);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

/**
 * Returns the npm package of a file in Deno's cache or in `node_modules`; for a file of this package,
 * its topmost folder.
 */
export function packageOf(source: string): string {
  if (source === "") return "(bundler)";
  const name = "((?:@[^/]+/)?[^/]+)";
  const [, cached] = new RegExp(`/npm/[^/]+/${name}/\\d[^/]*/`).exec(source) ??
    [];
  const [, installed] = new RegExp(`.*node_modules/${name}/`).exec(source) ??
    [];
  return cached ?? installed ??
    /(?:^|\/)(agent|client|protocol)\//.exec(source)?.[1] ?? "(other)";
}
