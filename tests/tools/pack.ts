/**
 * Makes the npm tarball: `deno run -A tests/tools/pack.ts [FOLDER]`.
 *
 * `deno pack` leaves a name of the import map as it is when it stands for a package of
 * another name (denoland/deno#36017), and npm has no `@std/semver`. So a copy of the package
 * is packed, in which that import says the name of the npm port.
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What to import on npm in place of a package of JSR; the same bytes as in `links/`. */
const NPM_PORTS: Readonly<Record<string, string>> = {
  "@std/semver": "npm:std-semver@^1.0.8",
};

/** Packs the package into `folder` and returns the path of the tarball. */
export async function pack(folder: string): Promise<string> {
  const stage = await Deno.makeTempDir({ prefix: "pack-" });
  try {
    for (const entry of config.publish.include) {
      if (!entry.startsWith("links/")) await copy(entry, stage);
    }
    const { name, version, license, exports, imports, compilerOptions } =
      config;
    await Deno.writeTextFile(
      join(stage, "deno.json"),
      JSON.stringify({
        name,
        version,
        license,
        exports,
        imports,
        compilerOptions,
      }),
    );
    const tarball = join(
      resolve(folder),
      `${tarballName(name)}-${version}.tgz`,
    );
    await run("deno", ["pack", "--allow-dirty", "--output", tarball], stage);
    return tarball;
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

/** As `npm pack` would name it. */
const tarballName = (name: string) => name.replace("@", "").replace("/", "-");

async function copy(path: string, stage: string): Promise<void> {
  const { isDirectory } = await Deno.stat(join(root, path));
  if (isDirectory) {
    for await (const { name } of Deno.readDir(join(root, path))) {
      await copy(join(path, name), stage);
    }
    return;
  }
  await Deno.mkdir(join(stage, dirname(path)), { recursive: true });
  const text = await Deno.readTextFile(join(root, path));
  await Deno.writeTextFile(
    join(stage, path),
    path.endsWith(".ts") ? forNpm(text) : text,
  );
}

/** Names the npm port where an import names a package of JSR. */
function forNpm(source: string): string {
  return Object.entries(NPM_PORTS).reduce(
    (text, [jsr, npm]) => text.replaceAll(`from "${jsr}"`, `from "${npm}"`),
    source,
  );
}

if (import.meta.main) console.log(await pack(Deno.args[0] ?? "."));
