/**
 * Finds cycles of imports: files that cannot be read, or loaded, one after the other. `deno lint`
 * sees one file at a time, so that a test applies this to all.
 *
 * @module
 */
import { posix } from "node:path";

/** An import of another file of the package. */
export interface Edge {
  /** The path of the imported file from the repository's root. */
  readonly target: string;
  /** How it is imported; of types, nothing is left when the program runs. */
  readonly kind: "static" | "dynamic" | "types";
}

/** The imports of each file, by its path from the repository's root. */
export type Graph = ReadonlyMap<string, readonly Edge[]>;

/** Reads the imports of a file; only `deno test` can, which has `Deno.lint.runPlugin()`. */
export function readImports(file: string, source: string): Edge[] {
  const edges: Edge[] = [];
  const add = (specifier: unknown, kind: Edge["kind"]) => {
    if (typeof specifier !== "string" || !specifier.startsWith(".")) return;
    edges.push({
      target: posix.join(posix.dirname(file), specifier),
      kind,
    });
  };
  Deno.lint.runPlugin(collector(add), file, source);
  return edges;
}

const collector = (
  add: (specifier: unknown, kind: Edge["kind"]) => void,
): Deno.lint.Plugin => ({
  name: "collector",
  rules: {
    imports: {
      create: () => ({
        ImportDeclaration(node) {
          const named = node.specifiers;
          const hasTypesOnly = node.importKind === "type" ||
            named.length > 0 &&
              named.every((one) =>
                one.type === "ImportSpecifier" && one.importKind === "type"
              );
          add(node.source.value, hasTypesOnly ? "types" : "static");
        },
        ExportNamedDeclaration(node) {
          const isType = node.exportKind === "type";
          add(node.source?.value, isType ? "types" : "static");
        },
        ExportAllDeclaration(node) {
          const isType = node.exportKind === "type";
          add(node.source.value, isType ? "types" : "static");
        },
        ImportExpression(node) {
          if (node.source.type === "Literal") add(node.source.value, "dynamic");
        },
        TSImportType(node) {
          const { argument } = node;
          if (argument.type !== "TSLiteralType") return;
          if (argument.literal.type === "Literal") {
            add(argument.literal.value, "types");
          }
        },
      }),
    },
  },
});

/**
 * Returns the shortest cycle through each import that is part of one, each cycle once, as
 * `a.ts → b.ts → a.ts`, followed by how the imports that are not static are made.
 */
export function findCycles(graph: Graph): string[] {
  const cycles = new Set<string>();
  for (const [file, edges] of graph) {
    for (const { target } of edges) {
      const way = shortestWay(graph, target, file);
      if (way !== undefined) cycles.add(describe(graph, [file, ...way]));
    }
  }
  return [...cycles].sort();
}

/** Returns the files from one to another, both included; none if no import leads there. */
function shortestWay(
  graph: Graph,
  from: string,
  to: string,
): string[] | undefined {
  const importers = new Map<string, string | undefined>([[from, undefined]]);
  for (const file of importers.keys()) {
    if (file === to) {
      const way: string[] = [];
      let at: string | undefined = to;
      for (; at !== undefined; at = importers.get(at)) way.unshift(at);
      return way;
    }
    for (const { target } of graph.get(file) ?? []) {
      if (!importers.has(target)) importers.set(target, file);
    }
  }
  return undefined;
}

/** Writes a cycle from its first file in the alphabet. */
function describe(graph: Graph, way: readonly string[]): string {
  const files = way.slice(1);
  const start = files.indexOf(files.toSorted()[0] ?? "");
  const turned = [...files.slice(start), ...files.slice(0, start + 1)];
  const kinds = turned.slice(1).map((target, i) => {
    const found = (graph.get(turned[i] ?? "") ?? [])
      .filter((edge) => edge.target === target).map(({ kind }) => kind);
    return found.includes("static") ? "static" : found[0] ?? "static";
  });
  const special = [...new Set(kinds.filter((kind) => kind !== "static"))];
  const note = special.length === 0 ? "" : ` (${special.join(", ")})`;
  return turned.join(" → ") + note;
}
