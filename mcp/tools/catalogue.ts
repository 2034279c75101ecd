/**
 * The table of an office's tools by the names that clients see.
 *
 * A tool has a short name where it is the only one of its Computer with it, and always a whole one.
 * Names are given once: what somebody allowed to be called must never become another tool. Patterns
 * choose which tools are shown.
 *
 * @module
 */
import type { Tool } from "@modelcontextprotocol/server";
import type { ResolvedOptions } from "../options.ts";
import { type Naming, toolName } from "./names.ts";
import { tagsOf, toMcpTool } from "./tool.ts";
import { ownToolName, type SMCPTool } from "../../protocol/mod.ts";

/** Where a tool is: what a name stands for. */
export interface ToolAddress {
  /** The Computer that has it. */
  readonly computer: string;
  /** Its name there. */
  readonly tool: string;
}

/** A tool that can be called now. */
export interface OfferedTool extends ToolAddress {
  /** As clients see it. */
  readonly shown: Tool;
  /** As its Computer describes it. */
  readonly original: SMCPTool;
}

/** What is known of a name. */
export type Found =
  | ({ readonly kind: "offered" } & OfferedTool)
  | (
    & { readonly kind: "away"; readonly since: Date; readonly hasLeft: boolean }
    & ToolAddress
  );

/** What a catalogue depends on. */
type CatalogueOptions = Pick<
  ResolvedOptions,
  "computer" | "include" | "exclude" | "nameLimit" | "lenient" | "within"
>;

/** Names kept of tools that are away, so that a call of one says so; the oldest go first. */
const MAX_AWAY_NAMES = 10_000;

/** What a list without tools is written as. */
const NO_TOOLS = "[]";

interface Binding extends ToolAddress {
  /** The tool, while it can be called. */
  offered?: OfferedTool | undefined;
  /** When the tool went away; absent while it is there. */
  since?: Date | undefined;
}

/** How a tool is named. */
interface NamedTool {
  /** As clients see it. */
  readonly name: string;
  /** Whether the Computer's name and the tool's own one make it. */
  readonly isOwn: boolean;
}

interface Listed {
  /** What the list was made of: another array is another list. */
  readonly source: readonly SMCPTool[];
  readonly tools: readonly OfferedTool[];
  /** Equal where clients see the same. */
  readonly text: string;
}

/**
 * The table of an office's tools by the names that MCP clients see: the Computer's and the tool's own,
 * such as `laptop__read`, where only one tool of the Computer has it, else with the `bundle_id` of its
 * MCP server, `laptop__files__read`, which always leads to it.
 *
 * A tool keeps its first name, and a name once given to a tool is given to no other one, as long as
 * the catalogue lives: what somebody allowed to be called must never become another tool.
 */
export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #naming: Naming;
  readonly #filter: ReturnType<typeof toolFilter>;
  /** Judges tools by the names that they would have without the client's wishes. */
  readonly #within: ReturnType<typeof toolFilter> | undefined;
  readonly #bindings = new Map<string, Binding>();
  /** The names that tools were shown with, by {@linkcode keyOf} them. */
  readonly #given = new Map<string, NamedTool>();
  readonly #listed = new Map<string, Listed>();
  #tools: readonly OfferedTool[] = [];

  /** @throws {TypeError} naming a pattern that cannot be used */
  constructor(options: CatalogueOptions) {
    this.#options = options;
    this.#naming = namingOf(options);
    const { include, exclude, within } = options;
    this.#filter = toolFilter(include, exclude);
    this.#within = within && toolFilter(within.include, within.exclude);
  }

  /** What can be called, in order: by Computer, then as its MCP servers list it. */
  get tools(): readonly OfferedTool[] {
    return this.#tools;
  }

  /** The Computers that are there, sorted, those without tools too. */
  get computers(): readonly string[] {
    return [...this.#listed.keys()].toSorted();
  }

  /** Finds out what a name stands for, or stood for. */
  find(name: string): Found | undefined {
    const binding = this.#bindings.get(name);
    if (binding?.offered) return { kind: "offered", ...binding.offered };
    if (binding?.since === undefined) return undefined;
    const { computer, tool, since } = binding;
    const hasLeft = !this.#listed.has(computer);
    return { kind: "away", computer, tool, since, hasLeft };
  }

  /**
   * Takes over what the Computers offer now.
   *
   * @returns whether clients see something else than before
   */
  update(
    computers: ReadonlyMap<string, readonly SMCPTool[]>,
    now: Date = new Date(),
  ): boolean {
    const { computer: only } = this.#options;
    let [isChanged, isOther] = [false, false];
    for (const [computer, source] of computers) {
      const before = this.#listed.get(computer);
      if (before?.source === source) continue;
      if (only !== undefined && computer !== only) continue;
      const after = this.#list(computer, source);
      this.#listed.set(computer, after);
      isOther = true;
      isChanged ||= after.text !== (before?.text ?? NO_TOOLS);
    }
    for (const [computer, { tools }] of this.#listed) {
      if (computers.has(computer)) continue;
      this.#listed.delete(computer);
      isOther = true;
      isChanged ||= tools.length > 0;
    }
    if (isOther) this.#index(now);
    return isChanged;
  }

  #list(computer: string, source: readonly SMCPTool[]): Listed {
    const unique = new Map(source.map((tool) => [tool.name, tool]));
    const counts = new Map<string, number>();
    for (const tool of unique.values()) {
      for (const name of new Set([tool.name, ownToolName(tool)])) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    const { lenient } = this.#options;
    const { prefix: naming } = this.#naming;
    const tools = [...unique.values()].flatMap((original) => {
      const isUnique = counts.get(ownToolName(original)) === 1;
      const named = this.#name(computer, original, isUnique);
      if (!this.#isShown(computer, original, named)) return [];
      const how = { name: named.name, computer, naming, lenient };
      const shown = toMcpTool(original, how);
      return [{ computer, tool: original.name, original, shown }];
    });
    const text = JSON.stringify(tools.map(({ shown }) => shown));
    return { source, tools, text };
  }

  #isShown(
    computer: string,
    original: SMCPTool,
    { name, isOwn }: NamedTool,
  ): boolean {
    const tags = tagsOf(original);
    const { whole, own } = formsOf(computer, original, this.#naming);
    if (!this.#filter({ names: [name, whole], own, tags })) return false;
    const { within } = this.#options;
    if (!within || !this.#within) return true;
    const allowed = formsOf(computer, original, namingOf(within));
    const names = [allowed.whole, ...(isOwn ? [allowed.own] : [])];
    return this.#within({ names, own: allowed.own, tags });
  }

  /** Names a tool, and makes its whole name lead to it as well. */
  #name(computer: string, original: SMCPTool, isUnique: boolean): NamedTool {
    const address = { computer, tool: original.name };
    const given = this.#given.get(keyOf(address));
    if (given) return given;
    const { whole, own } = formsOf(computer, original, this.#naming);
    const isOwn = isUnique && this.#bind(own, address);
    let name = isOwn ? own : whole;
    const parts = { ...address, bundleId: original.bundle_id };
    for (let attempt = 1; !this.#bind(name, address); attempt++) {
      name = toolName(parts, this.#naming, attempt);
    }
    this.#bind(whole, address);
    const named = { name, isOwn };
    this.#given.set(keyOf(address), named);
    return named;
  }

  /** @returns whether the name stands for this tool, and for no other one */
  #bind(name: string, { computer, tool }: ToolAddress): boolean {
    const holder = this.#bindings.get(name);
    if (holder) return holder.computer === computer && holder.tool === tool;
    this.#bindings.set(name, { computer, tool });
    return true;
  }

  #index(now: Date): void {
    this.#tools = this.computers
      .flatMap((computer) => this.#listed.get(computer)?.tools ?? []);
    const tools = new Map(this.#tools.map((tool) => [keyOf(tool), tool]));
    let spare = -MAX_AWAY_NAMES;
    for (const binding of this.#bindings.values()) {
      binding.offered = tools.get(keyOf(binding));
      if (!binding.offered) spare++;
    }
    for (const [name, binding] of this.#bindings) {
      if (binding.offered) binding.since = undefined;
      else if (spare-- <= 0) binding.since ??= now;
      else {
        const key = keyOf(binding);
        if (this.#given.get(key)?.name === name) this.#given.delete(key);
        this.#bindings.delete(name);
      }
    }
  }
}

const keyOf = ({ computer, tool }: ToolAddress): string =>
  JSON.stringify([computer, tool]);

const namingOf = ({ nameLimit, computer }: CatalogueOptions): Naming => ({
  limit: nameLimit,
  prefix: computer === undefined,
});

/** The two names that a tool may have, if no other tool has them. */
function formsOf(computer: string, original: SMCPTool, naming: Naming) {
  const { name: tool, bundle_id: bundleId } = original;
  return {
    whole: toolName({ computer, tool, bundleId }, naming),
    own: toolName({ computer, tool: ownToolName(original) }, naming),
  };
}

/** What a pattern is compared with. */
interface Matchable {
  /** The names by which clients may mean it. */
  readonly names: readonly string[];
  /** A name that it would have if no other tool had it: an exclusion must not depend on other tools. */
  readonly own: string;
  /** The words that its Computer tagged it with. */
  readonly tags: readonly string[];
}

const TAG = "tag:";

/**
 * Makes the filter of patterns such as `laptop__*` and `tag:safe`.
 *
 * @param include any of them must match; none at all lets everything in
 * @param exclude none of them may match
 * @throws {TypeError} naming a pattern that can match nothing
 */
export function toolFilter(
  include: readonly string[],
  exclude: readonly string[],
): (tool: Matchable) => boolean {
  const [wanted, unwanted] = [include.map(matcher), exclude.map(matcher)];
  return ({ names, own, tags }) =>
    (wanted.length === 0 || wanted.some((matches) => matches(names, tags))) &&
    !unwanted.some((matches) => matches([...names, own], tags));
}

type Matcher = (names: readonly string[], tags: readonly string[]) => boolean;

function matcher(pattern: string): Matcher {
  if (pattern.startsWith(TAG) && pattern.length > TAG.length) {
    const tag = pattern.slice(TAG.length);
    return (_, tags) => tags.includes(tag);
  }
  // What can never match guards nothing: a misspelt `exclude` would let tools through.
  if (!/^[\w*-]+$/.test(pattern)) {
    throw new TypeError(
      `Cannot use the pattern ${
        JSON.stringify(pattern)
      }: expected a tool's name of letters, digits, _ and -, with * for any characters, or tag:WORD`,
    );
  }
  const expression = new RegExp(`^${pattern.replaceAll(/\*+/g, ".*")}$`);
  return (names) => names.some((name) => expression.test(name));
}
