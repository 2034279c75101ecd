/**
 * What all MCP servers of one view share: the Agent, its tools, and what changes.
 *
 * Every request asks for the Agent again. Another one than before is followed: the first request
 * waits until its Computers have said what they offer, for some seconds at most; later changes are
 * notified together, a moment after the first of them.
 *
 * @module
 */
import type { ServerEvent } from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { mcpServerOf, type SMCPTool } from "../../protocol/mod.ts";
import { Catalogue } from "../tools/catalogue.ts";
import { messageOf } from "../tools/result.ts";
import type { ResolvedOptions } from "../options.ts";
import { Reads } from "../resources/reads.ts";
import type { Watches } from "../resources/watches.ts";

/**
 * Gives the Agent that sits in the office, joined. It is asked for every request, and gives the same
 * one for as long as that keeps its seat; a rejection says why there is none.
 */
export type AgentProvider = () => SmcpAgent | Promise<SmcpAgent>;

/** How long the first request waits for the tools of all Computers; the rest is notified when it comes. */
const SETTLE_TIMEOUT_MS = 5_000;
/** Changes within this time are told as one: a Computer that comes back causes three. */
export const BURST_MS = 50;

/** What is wrong at a Computer, as far as an Agent can know. */
export interface Trouble {
  /** Why its tools could not be fetched. */
  unfetched?: string;
  /** MCP servers of its configuration that offer no tool. */
  silent?: readonly string[];
}

/** What the MCP servers of one `officeMcp()` share: the Agent, the table of tools, and what changes in it. */
export class OfficeView {
  /** The table of tools. */
  readonly catalogue: Catalogue;
  /** What is wrong, by Computer. */
  readonly troubles = new Map<string, Trouble>();
  /** The resources and prompts. */
  readonly reads: Reads;
  /** What clients have subscribed to. */
  readonly watches: Watches;
  /** Gives the Agent. */
  readonly provider: AgentProvider;
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  #agent: SmcpAgent | undefined;
  #offs: (() => void)[] = [];
  #settled: Promise<void> = Promise.resolve();
  #burst: ReturnType<typeof setTimeout> | undefined;
  /** Whether clients would see something else than when they were last told. */
  #isChanged = false;
  /** Computers whose MCP servers did not offer a tool in time: they may be for reading alone. */
  readonly #waitedFor = new Set<string>();
  /** Whether somebody was told that there is no Agent. */
  #wasMissing = false;
  #isClosed = false;

  /**
   * @param watches shared by all views of the Agent
   * @throws {TypeError} naming an option that cannot be used
   */
  constructor(
    provider: AgentProvider,
    options: ResolvedOptions,
    watches: Watches,
  ) {
    this.provider = provider;
    this.watches = watches;
    this.reads = new Reads(
      (event) => this.tell(event),
      watches,
      options.computer,
    );
    this.catalogue = new Catalogue(options);
  }

  /** The office's name, once somebody has asked for its Agent. */
  get office(): string | undefined {
    return this.#agent?.office;
  }

  /**
   * The Agent, with the table of tools up to date.
   *
   * @throws whatever the provider says: there is no Agent
   */
  async ready(): Promise<SmcpAgent> {
    const agent = await this.#ask();
    if (this.#isClosed) throw new Error("The MCP server is closed");
    if (agent !== this.#agent) this.#watch(agent);
    await this.#allSettled();
    if (agent === this.#agent) this.#refresh(agent);
    return agent;
  }

  /** Adds a listener for what changes in what clients see; returns what removes it. */
  onChange(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells all clients of a change. */
  tell(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Listens no more; the Agent stays as it is. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    this.#listeners.clear();
    clearTimeout(this.#burst);
  }

  /** An Agent that replaces another one meanwhile has to settle as well. */
  async #allSettled(): Promise<void> {
    let settled: Promise<void>;
    do {
      settled = this.#settled;
      await settled;
    } while (settled !== this.#settled);
  }

  async #ask(): Promise<SmcpAgent> {
    try {
      return await this.provider();
    } catch (error) {
      this.#wasMissing = true;
      throw error;
    }
  }

  #watch(agent: SmcpAgent): void {
    const wasSeen = this.#offs.length > 0 || this.#wasMissing;
    this.#unwatch();
    this.#agent = agent;
    this.troubles.clear();
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, SETTLE_TIMEOUT_MS);
    let isSettled = false;
    this.#settled = Promise.race([this.#settle(agent), limit.promise])
      .then(() => {
        clearTimeout(timer);
        isSettled = true;
        if (agent !== this.#agent) return;
        for (const each of this.#starting(agent)) this.#waitedFor.add(each);
        this.#refresh(agent);
        if (wasSeen) this.#tellSoon(agent);
        else this.#isChanged = false;
      });
    this.#offs = [
      limit.resolve,
      ...this.reads.watch(agent),
      agent.on("tools", ({ computer, tools }) => {
        if (tools === undefined) this.troubles.delete(computer);
        if (!isSettled) return;
        this.#tellSoon(agent);
        if (tools !== undefined) void this.#inspect(agent, computer, tools);
      }),
      agent.on("toolsFailed", ({ computer, error }) => {
        this.troubles.set(computer, { unfetched: messageOf(error) });
      }),
    ];
  }

  async #settle(agent: SmcpAgent): Promise<void> {
    do {
      await agent.toolsSettled();
      const inspections = [...agent.tools].map(([computer, tools]) =>
        this.#inspect(agent, computer, tools)
      );
      await Promise.all(inspections);
      // A client that lists tools once would never see those of a Computer that is just starting.
    } while (
      agent === this.#agent && this.#starting(agent).length > 0 &&
      await this.#nextTools(agent)
    );
  }

  /** The Computers that have MCP servers, and not a single tool of them yet. */
  #starting(agent: SmcpAgent): string[] {
    return [...agent.tools].filter(([computer, tools]) =>
      tools.length === 0 && !this.#waitedFor.has(computer) &&
      this.troubles.get(computer)?.silent !== undefined
    ).map(([computer]) => computer);
  }

  /** Resolves when the tools of a Computer change; not at all once another Agent is watched. */
  #nextTools(agent: SmcpAgent): Promise<true> {
    return new Promise((resolve) => {
      this.#offs.push(agent.on("tools", () => resolve(true)));
    });
  }

  #unwatch(): void {
    for (const off of this.#offs.splice(0)) off();
    // It would be of the Agent before, and keep the next one from telling.
    clearTimeout(this.#burst);
    this.#burst = undefined;
    this.#agent = undefined;
  }

  /** Looks for MCP servers that are configured and offer nothing; older Computers do not say whose a tool is. */
  async #inspect(
    agent: SmcpAgent,
    computer: string,
    tools: readonly SMCPTool[],
  ): Promise<void> {
    const offering = new Set(tools.map(mcpServerOf));
    this.troubles.delete(computer); // it has been fetched
    if (offering.has(undefined)) return;
    try {
      const { servers } = await agent.getConfig(computer);
      const isNewest = agent === this.#agent &&
        agent.tools.get(computer) === tools;
      if (!isNewest) return;
      const silent = Object.entries(servers)
        .filter(([key, { disabled }]) => !disabled && !offering.has(key))
        .map(([key]) => key);
      if (silent.length > 0) this.troubles.set(computer, { silent });
    } catch {
      // It is about a hint: what cannot be asked for is left out.
    }
  }

  #tellSoon(agent: SmcpAgent): void {
    this.#burst ??= setTimeout(() => {
      this.#burst = undefined;
      if (agent === this.#agent) this.#refresh(agent);
      if (!this.#isChanged) return;
      this.#isChanged = false;
      this.tell({ kind: "tools_list_changed" });
    }, BURST_MS);
  }

  #refresh(agent: SmcpAgent): void {
    if (this.catalogue.update(agent.tools)) this.#isChanged = true;
  }
}
