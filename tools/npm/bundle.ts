import { join } from "node:path";
import { builtinModules } from "node:module";
import { gzipSync } from "node:zlib";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";
import { PEERS, rangesOf } from "./dependencies.ts";
import { installPackages, npmPackages } from "./npm_package.ts";

/** The bundler, in the version of which the sizes are known. */
const ESBUILD = "esbuild@0.28.2";

/** `nodejs_compat` of wrangler takes `fs` for `node:fs`, unlike other bundlers. */
const BARE = builtinModules.filter((name) => !/^_|:/.test(name));

/** The options of the bundler for each platform; those for `workerd` are wrangler's. */
const OPTIONS = {
  workerd: [
    "--platform=browser",
    "--conditions=workerd,worker,browser",
    ...["cloudflare:*", "node:*", ...BARE].map((it) => `--external:${it}`),
  ],
  browser: ["--platform=browser", "--external:node:*"],
  bun: ["--platform=node", "--conditions=bun,node"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A platform that programs are bundled for. */
export type Platform = keyof typeof OPTIONS;

/** A program with all that it needs, in one ES module. */
export interface Bundle {
  /** The module. */
  readonly code: string;
  /** Its size, in bytes. */
  readonly minified: number;
  /** Its size with gzip, in bytes. */
  readonly gzip: number;
  /** Bytes of each npm package and of each folder of this one, such as `~/server/http`; the largest first. */
  readonly parts: readonly (readonly [name: string, bytes: number])[];
  /** The modules that the platform must have, such as `node:crypto`; bare where a package imports them so. */
  readonly external: readonly string[];
  /** Those that CommonJS requires; an ES module throws there. */
  readonly required: readonly string[];
}

/** What is read of the report of esbuild. */
interface Metafile {
  readonly outputs: Readonly<
    Record<string, {
      readonly imports: readonly Import[];
      readonly inputs: Readonly<
        Record<string, { readonly bytesInOutput: number }>
      >;
    }>
  >;
}

interface Import {
  readonly path: string;
  readonly kind: string;
}

/**
 * Installs this package from its tarball, what it needs, and the bundler.
 *
 * @param folder an empty one
 */
export async function installForBundles(folder: string): Promise<void> {
  const { sdk } = await npmPackages(folder);
  const peers = Object.entries(rangesOf(PEERS)).map((it) => it.join("@"));
  await installPackages(folder, sdk, ...peers, ESBUILD);
}

/**
 * Bundles a program as its users do, from the npm tarball of this package.
 *
 * @param folder a folder of {@linkcode installForBundles}
 * @param source of the program, which imports `@a2c-smcp/sdk/…`
 * @throws {Error} with the output of the bundler, such as for a module that cannot be found
 */
export async function bundle(
  folder: string,
  source: string,
  platform: Platform,
): Promise<Bundle> {
  const scratch = await Deno.makeTempDir({ dir: folder });
  try {
    const path = (name: string) => join(scratch, name);
    await Deno.writeTextFile(path("entry.ts"), source);
    const esbuild = join(folder, "node_modules", ".bin", "esbuild");
    await run(esbuild, [
      ...["--bundle", "--minify", "--format=esm", "--log-level=error"],
      ...["--metafile=meta.json", "--outfile=out.js", "entry.ts"],
      ...OPTIONS[platform],
    ], scratch);
    const meta = JSON.parse(await Deno.readTextFile(path("meta.json")));
    return measure(await Deno.readTextFile(path("out.js")), meta);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

function measure(code: string, { outputs }: Metafile): Bundle {
  const bytes = new TextEncoder().encode(code);
  const parts = new Map<string, number>();
  const [output] = Object.values(outputs);
  for (
    const [file, { bytesInOutput }] of Object.entries(output?.inputs ?? {})
  ) {
    const name = partOf(file);
    parts.set(name, (parts.get(name) ?? 0) + bytesInOutput);
  }
  const paths = (imports: readonly Import[]) =>
    [...new Set(imports.map(({ path }) => path))].sort();
  const imports = output?.imports ?? [];
  return {
    code,
    minified: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    parts: [...parts].sort(([, a], [, b]) => b - a),
    external: paths(imports),
    required: paths(imports.filter(({ kind }) => kind === "require-call")),
  };
}

/** Returns the npm package of a file; for one of this package, its folder. */
function partOf(file: string): string {
  const [, name = "~", path = ""] =
    /.*node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/.exec(file) ?? [];
  if (name !== config.name) return name;
  return ["~", ...path.split("/").slice(0, -1).slice(0, 2)].join("/");
}
