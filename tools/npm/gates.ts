import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";
import { installName, PEERS } from "./dependencies.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Has all roles, and must serve an Agent where nothing is installed for the others. */
const FRONT_DOOR = ".";

/** What the gates are made with, from the package's root. */
const LOADER = "shared/packages.js";

/** An entrypoint of the npm package, and what it takes to load it. */
interface Entry {
  /** Its name in `exports`, such as `./server`. */
  readonly name: string;
  /** Its JavaScript from the package's root, such as `server/mod.js`. */
  readonly module: string;
  /** The recommended packages that it cannot be loaded without, as `npm install` takes them. */
  readonly packages: readonly string[];
  /** What it exports, beside types. */
  readonly values: Readonly<Record<string, unknown>>;
}

/** An entrypoint that says what to install where that is missing. */
export interface Gate {
  /** The entrypoint's name in `exports`. */
  readonly entry: string;
  /** What is loaded behind it, from the package's root. */
  readonly module: string;
  /** Its own file, from the package's root. */
  readonly path: string;
  /** What stands in that file. */
  readonly source: string;
}

/** What is read of the output of `deno info --json`. */
interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly isDynamic?: boolean;
      readonly code?: { readonly specifier?: string };
    }[];
  }[];
  readonly roots: readonly string[];
}

/**
 * Makes a gate for each entrypoint that needs recommended packages: Node itself would only say
 * which file of ours misses what.
 */
export async function makeGates(): Promise<Gate[]> {
  const entries = await Promise.all(
    Object.entries(config.exports)
      .filter(([, file]) => file.endsWith("mod.ts")) // the others are commands
      .map(([name, file]) => readEntry(name, file)),
  );
  return entries.filter(({ packages }) => packages.length > 0).map((entry) => ({
    entry: entry.name,
    module: entry.module,
    // All in one folder, since each names its module from there.
    path: `gates/${
      entry.module.replace("/mod.js", ".js").replaceAll("/", "_")
    }`,
    source: entry.name === FRONT_DOOR
      ? frontDoorSource(entry, entries)
      : gateSource(entry),
  }));
}

async function readEntry(name: string, file: string): Promise<Entry> {
  const [packages, values] = await Promise.all([
    peersOf(file),
    import(new URL(file, `file://${root}`).href),
  ]);
  const module = file.replace(/^\.\/(.*)\.ts$/, "$1.js");
  return { name, module, packages: packages.map(installName), values };
}

/**
 * Finds the recommended packages that are loaded with a module.
 *
 * @param file from the root
 * @param late whether those count that are loaded later, when something needs them
 */
export async function peersOf(file: string, late = false): Promise<string[]> {
  const output = await run("deno", ["info", "--json", file], root);
  const graph: Graph = JSON.parse(output);
  const modules = new Map(graph.modules.map((it) => [it.specifier, it]));
  const peers = new Set<string>();
  const seen = new Set<string>(graph.roots);
  for (const specifier of seen) { // grows on the way
    for (const it of modules.get(specifier)?.dependencies ?? []) {
      if ((it.isDynamic && !late) || it.code === undefined) continue;
      if (it.specifier.startsWith(".")) seen.add(it.code.specifier ?? "");
      const peer = PEERS.find((name) =>
        it.specifier === name || it.specifier.startsWith(`${name}/`)
      );
      if (peer !== undefined) peers.add(peer);
    }
  }
  return [...peers].toSorted();
}

/** Throws while it is loaded. */
const gateSource = (entry: Entry): string =>
  `import { loadPackages } from "../${LOADER}";
export const {
${namesOf(Object.keys(entry.values))}} = await ${loading(entry)};
`;

/** Throws when what is not there is called. */
function frontDoorSource(door: Entry, entries: readonly Entry[]): string {
  const open = entries.filter(({ packages }) => packages.length === 0);
  const closed: string[] = [];
  const homes = Map.groupBy(Object.keys(door.values), (name) => {
    const home = open.find(({ values }) => values[name] === door.values[name]);
    if (home === undefined) closed.push(name);
    return home;
  });
  const wrong = closed.find((name) => typeof door.values[name] !== "function");
  if (wrong !== undefined) {
    throw new Error(`Cannot stand in for ${wrong}: it is no function`);
  }
  const reexports = [...homes].flatMap(([home, names]) =>
    home ? [`export {\n${namesOf(names)}} from "../${home.module}";\n`] : []
  );
  const missing = closed.map((name) => `    ${name}: fail,\n`).join("");
  return `import { loadPackages } from "../${LOADER}";
${reexports.join("")}export const {
${namesOf(closed)}} = await ${
    loading(door, `use ${closed.join()}`)
  }.catch((error) => {
  const fail = function () {
    throw error;
  };
  return {
${missing}  };
});
`;
}

const loading = (
  { name, module, packages }: Entry,
  task = `load ${join(config.name, name)}`,
): string =>
  `loadPackages(
  ${JSON.stringify(task)},
  ${JSON.stringify(packages)},
  () => import("../${module}"),
)`;

const namesOf = (names: readonly string[]): string =>
  names.map((name) => `  ${name},\n`).join("");
