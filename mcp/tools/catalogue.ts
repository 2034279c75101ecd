/**
 * The table of an office's tools by the names that clients see.
 *
 * A tool has a short name where it is the only one of its Computer with it, and always a whole one.
 * Names are given once: what somebody allowed to be called must never become another tool. Patterns
 * choose which tools are shown.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/server";
import type { ResolvedOptions } from "../options.ts";
import { toolFilter } from "./filter.ts";
import { type Naming, toolName } from "./names.ts";
import { tagsOf, toMcpTool } from "./tool.ts";
import { ownToolName, type SMCPTool } from "../../protocol/mod.ts";
import { queue } from "../../shared/async.ts";
import { weigh, type Weight } from "../../shared/json_values.ts";
import { Pace } from "../../shared/pace.ts";

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
  /** What it weighs in a list: its values, and the letters of its text. */
  readonly weight: Weight;
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

/** The most that a tool may weigh: models use a small part of it, and to show it takes no time that others notice. */
const MAX_TOOL: Weight = { values: 20_000, letters: 1_000_000 };

/** A tool that has names, whether it can be called now or not. */
interface Entry extends ToolAddress {
  /** The names that stand for it, and for no other tool. */
  readonly names: string[];
  /** How it is shown; once that is decided. */
  named?: NamedTool;
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

/** What a Computer offers. */
interface Listed {
  /** What the list was made of: another array is another list. */
  readonly source: readonly SMCPTool[];
  readonly offered: ReadonlyMap<Entry, OfferedTool>;
  /** Equal where clients see the same; empty where they see nothing. */
  readonly digest: string;
  /** Tools that weigh too much to be shown. */
  readonly leftOut: number;
}

const NOTHING: Pick<Listed, "offered" | "digest"> = {
  offered: new Map(),
  digest: "",
};

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
  /** The tools that have names, by Computer and tool. */
  readonly #entries = new Map<string, Map<string, Entry>>();
  /** The same, by each of their names. */
  readonly #names = new Map<string, Entry>();
  /** Those of them that are away; the oldest come first. */
  readonly #away = new Set<Entry>();
  /** How many names those have. */
  #awayNames = 0;
  readonly #listed = new Map<string, Listed>();
  /** Updates run one after another, since each of them pauses. */
  readonly #inTurn = queue();
  /** Aborted when nobody needs the table any more. */
  readonly #closed = new AbortController();
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

  /** Counts the tools of a Computer: those that can be called, and those that weigh too much to be shown. */
  countOf(
    computer: string,
  ): { readonly tools: number; readonly leftOut: number } {
    const { offered, leftOut = 0 }: Partial<Listed> =
      this.#listed.get(computer) ?? {};
    return { tools: offered?.size ?? 0, leftOut };
  }

  /** Finds out what a name stands for, or stood for. */
  find(name: string): Found | undefined {
    const entry = this.#names.get(name);
    if (entry?.offered) return { kind: "offered", ...entry.offered };
    if (entry?.since === undefined) return undefined;
    const { computer, tool, since } = entry;
    const hasLeft = !this.#listed.has(computer);
    return { kind: "away", computer, tool, since, hasLeft };
  }

  /**
   * Takes over what the Computers offer now; pauses where that is much.
   *
   * @returns whether clients see something else than before
   * @throws {Error} after {@linkcode Catalogue.close}
   */
  update(
    computers: ReadonlyMap<string, readonly SMCPTool[]>,
    now: Date = new Date(),
  ): Promise<boolean> {
    return this.#inTurn(() => {
      this.#closed.signal.throwIfAborted();
      return this.#update([...computers], now);
    });
  }

  /** Ends an update, and all that wait. */
  close(): void {
    this.#closed.abort(new Error("The MCP server is closed"));
  }

  async #update(
    computers: readonly (readonly [string, readonly SMCPTool[]])[],
    now: Date,
  ): Promise<boolean> {
    const { computer: only } = this.#options;
    const pace = new Pace(this.#closed.signal);
    let isChanged = false;
    let isOther = false;
    const there = new Set(computers.map(([computer]) => computer));
    for (const [computer, source] of computers) {
      const before = this.#listed.get(computer);
      if (before?.source === source) continue;
      if (only !== undefined && computer !== only) continue;
      const after = await this.#list(computer, source, pace);
      this.#listed.set(computer, after);
      this.#settle(computer, after, now);
      isOther = true;
      isChanged ||= after.digest !== (before ?? NOTHING).digest;
    }
    for (const [computer, { digest }] of this.#listed) {
      if (there.has(computer)) continue;
      this.#listed.delete(computer);
      this.#settle(computer, NOTHING, now);
      isOther = true;
      isChanged ||= digest !== NOTHING.digest;
    }
    if (isOther) {
      this.#tools = this.computers.flatMap(
        (computer) => [...this.#listed.get(computer)?.offered.values() ?? []],
      );
    }
    return isChanged;
  }

  async #list(
    computer: string,
    source: readonly SMCPTool[],
    pace: Pace,
  ): Promise<Listed> {
    const unique = new Map<string, SMCPTool>();
    for (const tool of source) {
      unique.set(tool.name, tool);
      if (pace.isDue) await pace.turn();
    }
    const counts = new Map<string, number>();
    for (const tool of unique.values()) {
      for (const name of new Set([tool.name, ownToolName(tool)])) {
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      if (pace.isDue) await pace.turn();
    }
    const offered = new Map<Entry, OfferedTool>();
    const hash = createHash("sha256");
    let leftOut = 0;
    for (const original of unique.values()) {
      if (pace.isDue) await pace.turn();
      const { values, letters } = weigh(original, MAX_TOOL.values);
      if (values > MAX_TOOL.values || letters > MAX_TOOL.letters) {
        leftOut++;
        continue;
      }
      const isUnique = counts.get(ownToolName(original)) === 1;
      const entry = this.#entryOf(computer, original.name);
      const shown = this.#show(entry, original, isUnique);
      if (shown === undefined) continue;
      const text = JSON.stringify(shown);
      hash.update(text);
      const weight = { values, letters: text.length };
      const tool = original.name;
      offered.set(entry, { computer, tool, original, shown, weight });
    }
    const digest = offered.size === 0 ? NOTHING.digest : hash.digest("hex");
    return { source, offered, digest, leftOut };
  }

  /** Names a tool, and shows it as clients see it; `undefined` where they do not. */
  #show(
    entry: Entry,
    original: SMCPTool,
    isUnique: boolean,
  ): Tool | undefined {
    const { computer } = entry;
    const forms = formsOf(computer, original, this.#naming);
    const named = entry.named ??= this.#name(entry, original, {
      whole: forms.whole,
      own: isUnique ? forms.own : undefined,
    });
    if (!this.#isShown(computer, original, named, forms)) return undefined;
    const { lenient } = this.#options;
    const { prefix: naming } = this.#naming;
    return toMcpTool(original, { name: named.name, computer, naming, lenient });
  }

  #isShown(
    computer: string,
    original: SMCPTool,
    { name, isOwn }: NamedTool,
    { whole, own }: Forms,
  ): boolean {
    const tags = tagsOf(original);
    if (!this.#filter({ names: [name, whole], own, tags })) return false;
    const { within } = this.#options;
    if (!within || !this.#within) return true;
    const allowed = formsOf(computer, original, namingOf(within));
    const names = [allowed.whole, ...(isOwn ? [allowed.own] : [])];
    return this.#within({ names, own: allowed.own, tags });
  }

  /** Names a tool, and makes its whole name lead to it as well. */
  #name(
    entry: Entry,
    { bundle_id: bundleId }: SMCPTool,
    { whole, own }: { whole: string; own: string | undefined },
  ): NamedTool {
    const isOwn = own !== undefined && this.#bind(own, entry);
    let name = isOwn ? own : whole;
    const { computer, tool } = entry;
    for (let attempt = 1; !this.#bind(name, entry); attempt++) {
      name = toolName({ computer, tool, bundleId }, this.#naming, attempt);
    }
    this.#bind(whole, entry);
    return { name, isOwn };
  }

  #entryOf(computer: string, tool: string): Entry {
    const own = this.#entries.get(computer) ?? new Map<string, Entry>();
    this.#entries.set(computer, own);
    const entry: Entry = own.get(tool) ?? { computer, tool, names: [] };
    own.set(tool, entry);
    return entry;
  }

  /** @returns whether the name stands for this tool, and for no other one */
  #bind(name: string, entry: Entry): boolean {
    const holder = this.#names.get(name);
    if (holder) return holder === entry;
    this.#names.set(name, entry);
    entry.names.push(name);
    if (this.#away.has(entry)) this.#awayNames++;
    return true;
  }

  /** Notes which tools of a Computer can be called, and which are away; forgets those that are so for longest. */
  #settle(
    computer: string,
    { offered }: Pick<Listed, "offered">,
    now: Date,
  ): void {
    for (const entry of this.#entries.get(computer)?.values() ?? []) {
      entry.offered = offered.get(entry);
      if (entry.offered) {
        entry.since = undefined;
        if (this.#away.delete(entry)) this.#awayNames -= entry.names.length;
      } else if (!this.#away.has(entry)) {
        entry.since = now;
        this.#away.add(entry);
        this.#awayNames += entry.names.length;
      }
    }
    for (const entry of this.#away) {
      if (this.#awayNames <= MAX_AWAY_NAMES) break;
      this.#forget(entry);
    }
  }

  #forget(entry: Entry): void {
    const { computer, tool, names } = entry;
    this.#away.delete(entry);
    this.#awayNames -= names.length;
    for (const name of names) this.#names.delete(name);
    const own = this.#entries.get(computer);
    own?.delete(tool);
    if (own?.size === 0) this.#entries.delete(computer);
  }
}

const namingOf = ({ nameLimit, computer }: CatalogueOptions): Naming => ({
  limit: nameLimit,
  prefix: computer === undefined,
});

/** The two names that a tool may have, if no other tool has them. */
interface Forms {
  /** With the `bundle_id` of its MCP server. */
  readonly whole: string;
  /** Without. */
  readonly own: string;
}

function formsOf(
  computer: string,
  original: SMCPTool,
  naming: Naming,
): Forms {
  const { name: tool, bundle_id: bundleId } = original;
  return {
    whole: toolName({ computer, tool, bundleId }, naming),
    own: toolName({ computer, tool: ownToolName(original) }, naming),
  };
}
