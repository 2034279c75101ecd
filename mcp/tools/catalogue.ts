import type { Tool } from "@modelcontextprotocol/server";
import type { SMCPTool } from "../../protocol/mod.ts";
import { toolName } from "./names.ts";
import type { ResolvedOptions } from "../options.ts";
import { toolFilter } from "./patterns.ts";
import { tagsOf, toMcpTool } from "./tool.ts";

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
export type CatalogueOptions = Pick<
  ResolvedOptions,
  "computer" | "include" | "exclude" | "nameLimit" | "lenient" | "within"
>;

/** Names kept of tools that are away, so that a call of one says so; the oldest go first. */
const MAX_AWAY_NAMES = 10_000;

/** What a list without tools is written as. */
const NO_TOOLS = "[]";

interface Binding extends ToolAddress {
  /** When the tool went away; undefined while it is there. */
  since: Date | undefined;
}

interface Listed {
  /** What the list was made of: another array is another list. */
  readonly source: readonly SMCPTool[];
  readonly tools: readonly OfferedTool[];
  /** Equal where clients see the same. */
  readonly text: string;
}

/**
 * The table of an office's tools by the names that MCP clients see.
 *
 * A name once given to a tool is given to no other one as long as the catalogue lives: what
 * somebody allowed to be called must never become another tool.
 */
export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #filter: ReturnType<typeof toolFilter>;
  /** Judges tools by the names that they would have without the client's wishes. */
  readonly #within: ReturnType<typeof toolFilter>;
  readonly #bindings = new Map<string, Binding>();
  readonly #listed = new Map<string, Listed>();
  readonly #offered = new Map<string, OfferedTool>();
  #tools: readonly OfferedTool[] = [];

  /** @throws {TypeError} naming a pattern that cannot be used */
  constructor(options: CatalogueOptions) {
    this.#options = options;
    this.#filter = toolFilter(options.include, options.exclude);
    const { include, exclude } = options.within ?? options;
    this.#within = toolFilter(include, exclude);
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
    const offered = this.#offered.get(name);
    if (offered) return { kind: "offered", ...offered };
    const binding = this.#bindings.get(name);
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
    const tools = [...unique.values()].map((tool) =>
      this.#offer(computer, tool)
    )
      .filter((tool) => this.#isShown(tool));
    const text = JSON.stringify(tools.map(({ shown }) => shown));
    return { source, tools, text };
  }

  #isShown({ shown, original, computer, tool }: OfferedTool): boolean {
    const tags = tagsOf(original);
    if (!this.#filter({ name: shown.name, tags })) return false;
    const { within } = this.#options;
    if (within === undefined) return true;
    const prefix = within.computer === undefined;
    const naming = { limit: within.nameLimit, prefix };
    const { bundle_id } = original;
    const name = toolName(computer, tool, { ...naming, bundleId: bundle_id });
    return this.#within({ name, tags });
  }

  #offer(computer: string, original: SMCPTool): OfferedTool {
    const { name: tool, bundle_id } = original;
    const name = this.#bind({ computer, tool }, bundle_id);
    const naming = this.#options.computer === undefined;
    const { lenient } = this.#options;
    const shown = toMcpTool(original, { name, computer, naming, lenient });
    return { computer, tool, original, shown };
  }

  #bind(
    { computer, tool }: ToolAddress,
    bundleId: string | null | undefined,
  ): string {
    const { nameLimit: limit, computer: only } = this.#options;
    for (let attempt = 0;; attempt++) {
      const prefix = only === undefined;
      const naming = { limit, prefix };
      const name = toolName(computer, tool, { ...naming, bundleId }, attempt);
      const holder = this.#bindings.get(name);
      if (holder && (holder.computer !== computer || holder.tool !== tool)) {
        continue;
      }
      if (!holder) {
        this.#bindings.set(name, { computer, tool, since: undefined });
      }
      return name;
    }
  }

  #index(now: Date): void {
    this.#tools = this.computers
      .flatMap((computer) => this.#listed.get(computer)?.tools ?? []);
    this.#offered.clear();
    for (const tool of this.#tools) this.#offered.set(tool.shown.name, tool);
    let spare = this.#bindings.size - this.#offered.size - MAX_AWAY_NAMES;
    for (const [name, binding] of this.#bindings) {
      if (this.#offered.has(name)) binding.since = undefined;
      else if (spare-- > 0) this.#bindings.delete(name);
      else binding.since ??= now;
    }
  }
}
