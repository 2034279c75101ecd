/**
 * Names in rules that are none: such a rule guards nothing, and the next one decides.
 *
 * @module
 */
import { nearestWord } from "../../shared/checks.ts";
import { globOf } from "../../shared/glob.ts";
import type { Rule } from "./rules.ts";

/** An MCP server as far as rules name it. */
export interface NamedServer {
  /** Its name and its `bundle_id`. */
  readonly names: readonly string[];
  /** Its tools; undefined where they are not known, as it does not run. */
  readonly tools: readonly NamedArguments[] | undefined;
}

/** A tool as far as rules name it. */
export interface NamedArguments {
  /** All names that it is called by. */
  readonly names: readonly string[];
  /** The arguments that it lists; undefined where it takes others, too. */
  readonly arguments: readonly string[] | undefined;
}

/** Finds MCP servers, tools and arguments that rules name and there are not; one sentence for each. */
export const ruleMismatches = (
  rules: readonly Rule[],
  servers: readonly NamedServer[],
): string[] =>
  rules.flatMap((rule, i) =>
    mismatchesOf(rule, servers).map((text) => `rules.${i}: ${text}`)
  );

/** A name without `*` must be there; with one it may be about what is yet to come. */
function mismatchesOf(
  { server, tool, when = {}, file }: Rule,
  all: readonly NamedServer[],
): string[] {
  const servers = all.filter(({ names }) => fits(server, names));
  if (isExact(server) && servers.length === 0) {
    const known = all.flatMap(({ names }) => names);
    return [missing("no MCP server is called", server, known)];
  }
  const tools = servers.flatMap(({ tools }) => tools ?? []);
  const isKnown = servers.length > 0 &&
    servers.every(({ tools }) => tools !== undefined);
  const meant = tools.filter(({ names }) => fits(tool, names));
  if (!isKnown) return [];
  if (meant.length === 0) {
    const known = tools.flatMap(({ names }) => names);
    return isExact(tool) ? [missing("no tool is called", tool, known)] : [];
  }
  const listed = meant.flatMap((each) => each.arguments ?? []);
  if (meant.some((each) => each.arguments === undefined)) return [];
  return [...Object.keys(when), ...file ? [file.path, file.content] : []]
    .filter((name) => !listed.includes(name))
    .map((name) => missing("no tool of it has the argument", name, listed));
}

const isExact = (glob: string | undefined): glob is string =>
  glob !== undefined && !glob.includes("*");

const fits = (glob: string | undefined, names: readonly string[]): boolean =>
  glob === undefined || names.some(globOf(glob));

function missing(
  what: string,
  name: string,
  known: readonly string[],
): string {
  const near = nearestWord(name, known);
  const fix = near === undefined
    ? "correct or remove it"
    : `did you mean ${JSON.stringify(near)}?`;
  return `${what} ${JSON.stringify(name)}, so that it matches nothing; ${fix}`;
}
