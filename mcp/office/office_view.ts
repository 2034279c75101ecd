import type { SmcpAgent } from "../../agent/mod.ts";
import { mcpServerOf, type SMCPTool } from "../../protocol/mod.ts";
import { Catalogue } from "../tools/catalogue.ts";
import type { ResolvedOptions } from "../options.ts";

/**
 * Gives the Agent that sits in the office, joined. It is asked for every request, and gives the same
 * one for as long as that keeps its seat; a rejection says why there is none.
 */
export type AgentProvider = () => SmcpAgent | Promise<SmcpAgent>;

/** How long the first request waits for the tools of all Computers; the rest is told when it comes. */
const SETTLE_TIMEOUT_MS = 5_000;
/** Changes within this time are told as one: a Computer that comes back causes three. */
const BURST_MS = 50;

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
  readonly #provider: AgentProvider;
  readonly #listeners = new Set<() => void>();
  #agent: SmcpAgent | undefined;
  #offs: (() => void)[] = [];
  #settled: Promise<void> = Promise.resolve();
  #burst: ReturnType<typeof setTimeout> | undefined;
  /** Whether clients would see something else than when they were last told. */
  #isChanged = false;
  #isClosed = false;

  /** @throws {TypeError} naming an option that cannot be used */
  constructor(provider: AgentProvider, options: ResolvedOptions) {
    this.#provider = provider;
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
    const agent = await this.#provider();
    if (this.#isClosed) throw new Error("The MCP server is closed");
    if (agent !== this.#agent) this.#watch(agent);
    await this.#settled;
    if (agent === this.#agent) this.#refresh(agent);
    return agent;
  }

  /** Adds a listener, called once for each burst of changes in what clients see; returns what removes it. */
  onToolsChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Listens no more; the Agent stays as it is. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    this.#listeners.clear();
    clearTimeout(this.#burst);
  }

  #watch(agent: SmcpAgent): void {
    const isFirst = this.#offs.length === 0;
    this.#unwatch();
    this.#agent = agent;
    this.troubles.clear();
    this.#offs = [
      agent.on("tools", ({ computer, tools }) => {
        this.#tellSoon(agent);
        if (tools === undefined) this.troubles.delete(computer);
        else void this.#inspect(agent, computer, tools);
      }),
      agent.on("toolsFailed", ({ computer, error }) => {
        this.troubles.set(computer, { unfetched: messageOf(error) });
      }),
    ];
    for (const [computer, tools] of agent.tools) {
      void this.#inspect(agent, computer, tools);
    }
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, SETTLE_TIMEOUT_MS);
    this.#offs.push(limit.resolve);
    this.#settled = Promise.race([agent.toolsSettled(), limit.promise])
      .then(() => {
        clearTimeout(timer);
        if (agent !== this.#agent) return;
        this.#refresh(agent);
        if (isFirst) this.#isChanged = false; // nobody has seen anything yet
        else this.#tellSoon(agent);
      });
  }

  #unwatch(): void {
    for (const off of this.#offs.splice(0)) off();
    this.#agent = undefined;
  }

  /** Looks for MCP servers that are configured and offer nothing; older Computers do not say whose a tool is. */
  async #inspect(
    agent: SmcpAgent,
    computer: string,
    tools: readonly SMCPTool[],
  ): Promise<void> {
    const offering = new Set(tools.map(mcpServerOf));
    if (offering.has(undefined)) return void this.troubles.delete(computer);
    try {
      const { servers } = await agent.getConfig(computer);
      if (agent.tools.get(computer) !== tools) return; // a newer list has come
      const silent = Object.values(servers)
        .filter(({ name, disabled }) => !disabled && !offering.has(name))
        .map(({ name }) => name);
      if (silent.length > 0) this.troubles.set(computer, { silent });
      else this.troubles.delete(computer);
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
      for (const listener of this.#listeners) listener();
    }, BURST_MS);
  }

  #refresh(agent: SmcpAgent): void {
    if (this.catalogue.update(agent.tools)) this.#isChanged = true;
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
