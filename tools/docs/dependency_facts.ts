import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../process.ts";
import { forEachConcurrent } from "../../shared/async.ts";
import { importGraphs, packageName } from "./import_graphs.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a registry and a disk say of a package. */
export interface PackageFacts {
  readonly version: string;
  readonly bytes: number;
  /** Packages that it brings, without itself. */
  readonly brings: number;
  /** Bytes of it and of these. */
  readonly treeBytes: number;
  /** Its licence, as an SPDX expression. */
  readonly license: string;
  /** The day of its last release, such as `2026-01-31`. */
  readonly released: string;
  /** What its authors say, if it is deprecated. */
  readonly deprecated?: string;
}

/** What the import of an entry takes. */
export interface ImportFacts {
  /** Of the processor. */
  readonly ms: number;
  readonly megabytes: number;
  readonly modules: number;
}

/** What is measured or asked for; the rest of the page follows from the source. */
export interface Facts {
  readonly packages: Readonly<Record<string, PackageFacts>>;
  readonly imports: Readonly<Record<string, ImportFacts>>;
}

const lock: {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<
    Record<string, { readonly dependencies?: readonly string[] }>
  >;
} = JSON.parse(
  await Deno.readTextFile(new URL("../../tests/deno.lock", import.meta.url)),
);

/** The packages that the source, the tests and the tools import by name, with their ids in tests/deno.lock. */
export const DIRECT: ReadonlyMap<string, string> = new Map(
  Object.entries(lock.specifiers).map(([specifier, version]) => {
    const name = packageName(specifier.slice("npm:".length));
    return [name, `${name}@${version}`];
  }),
);

/** Imports per entry; the fastest counts. */
const RUNS = 9;

/** Registries are asked for so many packages at a time. */
const AT_A_TIME = 6;

/**
 * Measures and asks for everything.
 *
 * @param known what need not be measured again, such as on a machine that does other work
 */
export async function gatherFacts(
  known: Facts["imports"] = {},
): Promise<Facts> {
  const { npmCache } = JSON.parse(await run("deno", ["info", "--json"], root));
  const caches: string[] = [];
  for await (const { name } of Deno.readDir(npmCache)) {
    caches.push(join(npmCache, name));
  }
  const found = new Map<string, PackageFacts>();
  await forEachConcurrent([...DIRECT], AT_A_TIME, async ([name, id]) => {
    found.set(name, await packageFacts(name, id, caches));
  });
  const packages = Object.fromEntries(
    [...DIRECT.keys()].flatMap((name) => {
      const facts = found.get(name);
      return facts ? [[name, facts]] : [];
    }),
  );
  const imports: Record<string, ImportFacts> = {};
  for (const { name, file, modules } of await importGraphs()) {
    const { ms, megabytes } = known[name] ?? await measure(file);
    imports[name] = { ms, megabytes, modules };
  }
  return { packages, imports };
}

async function packageFacts(
  name: string,
  id: string,
  caches: readonly string[],
): Promise<PackageFacts> {
  const tree = treeOf(id);
  const sizes = await Promise.all(
    [...tree].map((each) => bytesOf(each, caches)),
  );
  const version = versionOf(id);
  const fields = ["time", "dist-tags.latest", "license", "deprecated"];
  const { time, "dist-tags.latest": latest, license, deprecated } = JSON.parse(
    await run("npm", ["view", "--json", `${name}@${version}`, ...fields], root),
  );
  return {
    version,
    bytes: sizes[0] ?? 0,
    brings: tree.size - 1,
    treeBytes: sizes.reduce((sum, size) => sum + size, 0),
    license: `${license?.type ?? license}`,
    released: `${time[latest]}`.slice(0, "2026-01-31".length),
    ...(deprecated !== undefined && { deprecated: `${deprecated}` }),
  };
}

/** Returns a package, first, and all that it depends on; without types, which nothing runs. */
function treeOf(id: string): Set<string> {
  const tree = new Set<string>();
  const add = (id: string) => {
    if (tree.has(id)) return;
    tree.add(id);
    for (const wanted of lock.npm[id]?.dependencies ?? []) {
      if (!wanted.startsWith("@types/")) add(lockedId(wanted));
    }
  };
  add(id);
  return tree;
}

/** Finds the id of a dependency, which the lock file names without its version where there is one alone. */
function lockedId(wanted: string): string {
  const found = Object.keys(lock.npm).find((id) =>
    id === wanted || id.startsWith(`${wanted}_`) || packageName(id) === wanted
  );
  if (found === undefined) throw new Error(`tests/deno.lock has no ${wanted}`);
  return found;
}

const versionOf = (id: string): string =>
  id.slice(packageName(id).length + 1).split("_", 1)[0] ?? "";

async function bytesOf(id: string, caches: readonly string[]): Promise<number> {
  const place = join(packageName(id), versionOf(id));
  for (const cache of caches) {
    const size = await folderBytes(join(cache, place)).catch(() => 0);
    if (size > 0) return size;
  }
  throw new Error(`${id} is not in the cache; run deno install`);
}

async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    bytes += isDirectory
      ? await folderBytes(path)
      : (await Deno.stat(path)).size;
  }
  return bytes;
}

async function measure(file: string): Promise<Omit<ImportFacts, "modules">> {
  const times: number[] = [];
  const sizes: number[] = [];
  const args = file.endsWith("main.ts") ? ["--version"] : [];
  for (let i = 0; i < RUNS; i++) {
    const output = await run("deno", [
      ...["run", "-A", "tools/docs/import_time.ts"],
      ...[new URL(file, `file://${root}`).href, ...args],
    ], root);
    const [ms, bytes] = JSON.parse(output.trim().split("\n").at(-1) ?? "");
    times.push(ms);
    sizes.push(bytes);
  }
  return {
    ms: Math.round(Math.min(...times)),
    megabytes: Math.round(Math.min(...sizes) / 1e6),
  };
}
