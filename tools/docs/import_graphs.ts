import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What an entry of the package, or a command, loads. */
export interface ImportGraph {
  /** The import path of an entry, or the name of a command. */
  readonly name: string;
  /** The file. */
  readonly file: string;
  /** Packages that its modules import statically, sorted. */
  readonly atOnce: readonly string[];
  /** Further packages that they import when they are used, sorted. */
  readonly whenUsed: readonly string[];
  /** The number of its own modules that are loaded at once. */
  readonly modules: number;
}

/** The files of the commands. */
const COMMANDS: Readonly<Record<string, string>> = {
  smcp: "main.ts",
  "smcp-server": "server/main.ts",
  "smcp-agent": "agent/main.ts",
  "smcp-computer": "computer/main.ts",
};

/** The used part of the output of `deno info --json`. */
interface Info {
  readonly roots: readonly string[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly modules: readonly {
    readonly specifier: string;
    readonly npmPackage?: string;
    readonly dependencies?: readonly {
      readonly isDynamic?: boolean;
      readonly code?: { readonly specifier?: string };
    }[];
  }[];
}

/** Reads the graphs of all entries and commands. */
export async function importGraphs(): Promise<ImportGraph[]> {
  const entries = Object.entries(config.exports)
    .filter(([path]) => !path.endsWith("/main"))
    .map(([path, file]) => [
      config.name + path.slice(1),
      file.slice("./".length),
    ]);
  const graphs: ImportGraph[] = [];
  for (
    const [name = "", file = ""] of [...entries, ...Object.entries(COMMANDS)]
  ) {
    const info: Info = JSON.parse(
      await run("deno", ["info", "--json", file], root),
    );
    const first = reached(info, false);
    const all = reached(info, true);
    graphs.push({
      name,
      file,
      atOnce: first.packages,
      whenUsed: all.packages.filter((one) => !first.packages.includes(one)),
      modules: first.modules,
    });
  }
  return graphs;
}

function reached(
  { roots, redirects, modules }: Info,
  withDynamic: boolean,
): { packages: string[]; modules: number } {
  const bySpecifier = new Map(modules.map((one) => [one.specifier, one]));
  const seen = new Set<string>();
  const packages = new Set<string>();
  const open = [...roots];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const specifier = redirects[next] ?? next;
    const module = bySpecifier.get(specifier);
    if (seen.has(specifier) || module === undefined) continue;
    if (module.npmPackage !== undefined) {
      packages.add(packageName(module.npmPackage));
      continue;
    }
    if (specifier.startsWith("file:")) seen.add(specifier);
    for (const { isDynamic = false, code } of module.dependencies ?? []) {
      if (code?.specifier !== undefined && (withDynamic || !isDynamic)) {
        open.push(code.specifier);
      }
    }
  }
  return { packages: [...packages].sort(), modules: seen.size };
}

/** Returns the name in `@scope/name@1.0.0_peer@2.0.0`. */
export const packageName = (id: string): string =>
  id.slice(0, id.indexOf("@", 1));
