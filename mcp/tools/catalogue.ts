/**
 * The table of an office's tools by the names that clients see.
 *
 * A tool has one that clients see, and always a whole one, with its MCP server. Names follow from the
 * configurations of Computers alone: what a person has allowed must never become another
 * tool. Patterns choose which tools are shown.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/server";
import type { ResolvedOptions } from "../options.ts";
import { type ToolFilter, toolFilter } from "./filter.ts";
import { DESKTOP_TOOL_NAMES, type Naming, toolName } from "./names.ts";
import { type ConfiguredServers, ownedTool } from "./servers.ts";
import { tagsOf, toMcpTool } from "./tool.ts";
import { mcpServerOf, type SMCPTool } from "../../protocol/mod.ts";
import { queue } from "../../shared/async.ts";
import { weigh, type Weight } from "../../shared/json/values.ts";
import { Pace } from "../../shared/pace.ts";

/** Where a tool is: what a name stands for. */
export interface ToolAddress {
  /** The Computer that has it. */
  readonly computer: string;
  /** Its name there. */
  readonly tool: string;
  /** Its MCP server; absent where its Computer does not name it. */
  readonly server?: string;
}

/** What a Computer offers, and what the names of that depend on. */
export interface ComputerOffer {
  /** In the order of its MCP servers. */
  readonly tools: readonly SMCPTool[];
  /** Those of its configuration; absent where that cannot be known, which makes names whole. */
  readonly servers?: ConfiguredServers | undefined;
}

/** A tool that can be called now. */
export interface OfferedTool extends ToolAddress {
  readonly kind: "offered";
  /** The names that lead to it: that of `shown`, and the whole one. */
  readonly names: readonly string[];
  /** As clients see it. */
  readonly shown: Tool;
  /** As its Computer describes it. */
  readonly original: SMCPTool;
  /** What it weighs in a list: its values, and the letters of its text. */
  readonly weight: Weight;
}

/** What is known of a name. */
export type Found =
  | OfferedTool
  | (
    & { readonly kind: "away"; readonly since: Date; readonly hasLeft: boolean }
    & ToolAddress
  );

/** What a catalogue depends on. */
type CatalogueOptions = Pick<
  ResolvedOptions,
  | "computer"
  | "include"
  | "exclude"
  | "nameLimit"
  | "lenient"
  | "desktopTools"
  | "within"
>;

/** Names kept of tools that are away, for the error of a call; the oldest go first. */
const MAX_AWAY_NAMES = 10_000;

/** The most that a tool may weigh: models use a small part of it, and to show it takes no time that others notice. */
const MAX_TOOL: Weight = { values: 20_000, letters: 1_000_000 };

/** A tool that had names, and cannot be called now. */
interface AwayTool extends ToolAddress {
  readonly since: Date;
}

/** What a Computer offers, as clients see it. */
interface Listed {
  /** What the list was made of: another one is another list. */
  readonly source: ComputerOffer;
  readonly offered: readonly OfferedTool[];
  /** Equal where clients see the same; empty where they see nothing. */
  readonly digest: string;
  /** Tools that weigh too much to be shown. */
  readonly leftOut: number;
}

/**
 * The table of an office's tools by the names that MCP clients see: `laptop__read` where the Computer
 * has one MCP server or the tool an alias, else `laptop__files__read`, which always leads to it.
 *
 * A name depends on the Computer's configuration and on nothing else: it never becomes another tool,
 * whichever MCP servers run. Should two tools have one name all the same, it leads to neither.
 */
export class Catalogue {
  readonly #options: CatalogueOptions;
  readonly #naming: Naming;
  readonly #filter: ToolFilter;
  /** Judges tools by the names that they would have without the client's wishes. */
  readonly #within: ToolFilter | undefined;
  readonly #listed = new Map<string, Listed>();
  /** What can be called, by each name; `undefined` where several tools have it. */
  #names: ReadonlyMap<string, OfferedTool | undefined> = new Map();
  /** What could be called once, by name; the oldest come first. */
  readonly #away = new Map<string, AwayTool>();
  /** Updates run one after another, since each of them pauses. */
  readonly #inTurn = queue();
  /** Aborted when the table is not used any more. */
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
    return { tools: offered?.length ?? 0, leftOut };
  }

  /** The MCP servers of a Computer's configuration; `undefined` where they are unknown. */
  serversOf(computer: string): ConfiguredServers | undefined {
    return this.#listed.get(computer)?.source.servers;
  }

  /** Finds out what a name stands for, or stood for. */
  find(name: string): Found | undefined {
    const offered = this.#names.get(name);
    if (offered) return offered;
    const away = this.#away.get(name);
    if (away === undefined) return undefined;
    const hasLeft = !this.#listed.has(away.computer);
    return { kind: "away", ...away, hasLeft };
  }

  /**
   * Takes over what the Computers offer now; pauses where that is much.
   *
   * @returns whether clients see something else than before
   * @throws {Error} after {@linkcode Catalogue.close}
   */
  update(
    computers: ReadonlyMap<string, ComputerOffer>,
    now: Date = new Date(),
  ): Promise<boolean> {
    return this.#inTurn(() => {
      this.#closed.signal.throwIfAborted();
      return this.#update(new Map(computers), now);
    });
  }

  /** Ends an update, and all that wait. */
  close(): void {
    this.#closed.abort(new Error("The MCP server is closed"));
  }

  async #update(
    computers: ReadonlyMap<string, ComputerOffer>,
    now: Date,
  ): Promise<boolean> {
    const { computer: only } = this.#options;
    const pace = new Pace(this.#closed.signal);
    let isChanged = false;
    let isOther = false;
    for (const [computer, source] of computers) {
      const before = this.#listed.get(computer);
      if (before && isSame(before.source, source)) continue;
      if (only !== undefined && computer !== only) continue;
      const after = await this.#list(computer, source, pace);
      this.#listed.set(computer, after);
      isOther = true;
      isChanged ||= after.digest !== (before?.digest ?? "");
    }
    for (const [computer, { digest }] of this.#listed) {
      if (computers.has(computer)) continue;
      this.#listed.delete(computer);
      isOther = true;
      isChanged ||= digest !== "";
    }
    if (isOther) await this.#index(now, pace);
    return isChanged;
  }

  async #list(
    computer: string,
    source: ComputerOffer,
    pace: Pace,
  ): Promise<Listed> {
    const unique = new Map<string, SMCPTool>();
    for (const tool of source.tools) {
      unique.set(tool.name, tool);
      if (pace.isDue) await pace.turn();
    }
    const offered: OfferedTool[] = [];
    const hash = createHash("sha256");
    let leftOut = 0;
    for (const original of unique.values()) {
      if (pace.isDue) await pace.turn();
      const { values, letters } = weigh(original, MAX_TOOL.values);
      if (values > MAX_TOOL.values || letters > MAX_TOOL.letters) {
        leftOut++;
        continue;
      }
      const forms = formsOf(computer, original, source, this.#naming);
      if (!this.#isShown(computer, original, source, forms)) continue;
      const shown = this.#show(computer, original, forms.name);
      const text = JSON.stringify(shown);
      const server = mcpServerOf(original);
      hash.update(text);
      offered.push({
        kind: "offered",
        computer,
        tool: original.name,
        ...(server !== undefined && { server }),
        names: [...new Set([forms.name, forms.whole])],
        original,
        shown,
        weight: { values, letters: text.length },
      });
    }
    const digest = offered.length === 0 ? "" : hash.digest("hex");
    return { source, offered, digest, leftOut };
  }

  #show(computer: string, original: SMCPTool, name: string): Tool {
    const { lenient } = this.#options;
    const { prefix: naming } = this.#naming;
    return toMcpTool(original, { name, computer, naming, lenient });
  }

  #isShown(
    computer: string,
    original: SMCPTool,
    source: ComputerOffer,
    { name, whole, own }: Forms,
  ): boolean {
    const tags = tagsOf(original);
    if (!this.#filter({ names: [name, whole], own, tags })) return false;
    const { within } = this.#options;
    if (!within || !this.#within) return true;
    const allowed = formsOf(computer, original, source, namingOf(within));
    const names = [allowed.name, allowed.whole];
    return this.#within({ names, own: allowed.own, tags });
  }

  /** Makes the table of names again, and notes which tools are away. */
  async #index(now: Date, pace: Pace): Promise<void> {
    const all = this.computers.flatMap(
      (computer) => this.#listed.get(computer)?.offered ?? [],
    );
    const names = new Map<string, OfferedTool | undefined>();
    for (const tool of all) {
      for (const name of tool.names) {
        names.set(name, names.has(name) ? undefined : tool);
        this.#away.delete(name);
      }
      if (pace.isDue) await pace.turn();
    }
    for (const [name, tool] of this.#names) {
      if (tool === undefined || names.has(name)) continue;
      const { computer, tool: own } = tool;
      this.#away.set(name, { computer, tool: own, since: now });
    }
    for (const name of this.#away.keys()) {
      if (this.#away.size <= MAX_AWAY_NAMES) break;
      this.#away.delete(name);
    }
    this.#names = names;
    this.#tools = all.filter((tool) => names.get(tool.shown.name) === tool);
  }
}

const isSame = (a: ComputerOffer, b: ComputerOffer): boolean =>
  a.tools === b.tools && a.servers === b.servers;

const namingOf = (
  { nameLimit, computer, desktopTools }: CatalogueOptions,
): Naming => ({
  limit: nameLimit,
  prefix: computer === undefined,
  ...(desktopTools && { reserved: DESKTOP_TOOL_NAMES }),
});

/** The names of a tool. */
interface Forms {
  /** As clients see it: one of the two others. */
  readonly name: string;
  /** With its MCP server, where that is known. */
  readonly whole: string;
  /** Without. */
  readonly own: string;
}

function formsOf(
  computer: string,
  original: SMCPTool,
  { servers }: ComputerOffer,
  naming: Naming,
): Forms {
  const { server, own, isShort } = ownedTool(original, servers);
  const forms = {
    whole: toolName({ computer, server, own }, naming),
    own: toolName({ computer, own }, naming),
  };
  return { name: isShort ? forms.own : forms.whole, ...forms };
}
