import config from "../../deno.json" with { type: "json" };

/** The optional peer dependencies of the npm package, which an Agent does not need. */
export const PEERS: readonly string[] = [
  // The Server.
  ...["@hono/node-server", "engine.io", "hono", "socket.io"],
  ...["@opentelemetry/api", "jose", "oauth4webapi", "redis"],
  // The Computer.
  ...["@bpinternal/verel", "@modelcontextprotocol/sdk"],
  ...["modern-tar", "yaml", "yauzl"],
  // An office as one MCP server.
  ...["@modelcontextprotocol/client", "@modelcontextprotocol/server"],
  // The commands.
  ...["@clack/prompts", "commander", "uqr"],
];

/** The dependencies of the npm package, in the ranges of deno.json: `deno pack` loosens exact ones. */
export interface Dependencies {
  /** What is installed with it. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** What is installed where somebody asks for it. */
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The ranges of packages. */
export const rangesOf = (
  names: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, rangeOf(name)]));

/**
 * Tells apart what the package needs and what it recommends.
 *
 * @param packed names of the packages that the source imports, as `deno pack` found them
 * @throws {Error} when a recommended package is not imported at all
 */
export function splitDependencies(packed: readonly string[]): Dependencies {
  const unknown = PEERS.find((name) => !packed.includes(name));
  if (unknown !== undefined) {
    throw new Error(
      `Cannot recommend ${unknown}: nothing imports it; take it out of PEERS`,
    );
  }
  return {
    dependencies: rangesOf(packed.filter((name) => !PEERS.includes(name))),
    peerDependencies: rangesOf(PEERS.toSorted()),
  };
}

/** What few users need, and is large; an error says what to install. */
export const STILL_OPTIONAL: readonly string[] = ["redis"];

/** Tells apart what a package of the commands or of a role brings, and what it recommends. */
export function splitOptional(
  all: Readonly<Record<string, string>>,
): Dependencies {
  const entries = Object.entries(all);
  const isOptional = ([name]: readonly [string, string]) =>
    STILL_OPTIONAL.includes(name);
  return {
    dependencies: Object.fromEntries(entries.filter((it) => !isOptional(it))),
    peerDependencies: Object.fromEntries(entries.filter(isOptional)),
  };
}

/** What `npm install` takes: a package that is pinned has to come in that very version. */
export function installName(name: string): string {
  const range = rangeOf(name);
  return /^\d/.test(range) ? `${name}@${range}` : name;
}

function rangeOf(name: string): string {
  const imports: Readonly<Record<string, string>> = config.imports;
  const target = imports[name] ?? "";
  const [, range] = /^(?:npm|jsr):@?[^@]+@(.+)$/.exec(target) ?? [];
  if (range !== undefined) return range;
  throw new Error(`Cannot find the version of ${name} in deno.json`);
}
