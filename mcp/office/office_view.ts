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
import { officePathOf } from "../../agent/office_path.ts";
import type { SmcpAgent } from "../../agent/mod.ts";
import { Catalogue } from "../tools/catalogue.ts";
import { FollowedAgent, type Trouble } from "./followed_agent.ts";
import type { ResolvedOptions } from "../options.ts";
import { openReads, type Reads } from "../resources/reads.ts";
import type { Watches } from "../resources/watches.ts";

/**
 * Gives the Agent that sits in the office, joined. It is asked for every request, and gives the same
 * one for as long as that keeps its seat; a rejection says why there is none.
 */
export type AgentProvider = () => SmcpAgent | Promise<SmcpAgent>;

/** How long the first request waits for the tools of all Computers; the rest is notified when it comes. */
const SETTLE_TIMEOUT_MS = 5_000;
/** Changes within this time are notified as one: a Computer that comes back causes three. */
export const BURST_MS = 50;

const NO_TROUBLES: ReadonlyMap<string, Trouble> = new Map();

/** What the MCP servers of one view share: the Agent, the table of tools, and what changes in it. */
export class OfficeView {
  /** Gives the Agent. */
  readonly provider: AgentProvider;
  /** What clients have subscribed to, shared by all views of the Agent. */
  readonly watches: Watches;
  /** The table of tools. */
  readonly catalogue: Catalogue;
  /** The resources and prompts. */
  readonly reads: Reads;
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  /** Computers whose MCP servers did not offer a tool in time. */
  readonly #waitedFor = new Set<string>();
  #agent: SmcpAgent | undefined;
  /** What is read of that Agent. */
  #followed: FollowedAgent | undefined;
  #offs: (() => void)[] = [];
  #settled: Promise<void> = Promise.resolve();
  /** Whether the Agent's Computers have been waited for: before, nothing is notified. */
  #isSettled = false;
  #burst: ReturnType<typeof setTimeout> | undefined;
  /** Whether clients would see something else than when they were last notified. */
  #isChanged = false;
  /** Whether a client was notified that there is no Agent. */
  #wasMissing = false;
  #isClosed = false;
  /** The offices that clients were last notified of, as a text. */
  #notifiedOffices = "";

  /** @throws {TypeError} naming an option that cannot be used */
  constructor(
    provider: AgentProvider,
    options: ResolvedOptions,
    watches: Watches,
  ) {
    this.provider = provider;
    this.watches = watches;
    this.catalogue = new Catalogue(options);
    const notify = (event: ServerEvent) => this.#notify(event);
    this.reads = openReads(notify, watches, options.computer);
  }

  /** What is wrong, by Computer. */
  get troubles(): ReadonlyMap<string, Trouble> {
    return this.#followed?.troubles ?? NO_TROUBLES;
  }

  /** The office's name, once somebody has asked for its Agent. */
  get office(): string | undefined {
    return this.#agent?.office;
  }

  /** The ids of this office and of those behind it; none without an Agent. */
  get offices(): readonly string[] {
    const agent = this.#agent;
    return agent ? officePathOf(agent).ids(agent.tools.values()) : [];
  }

  /**
   * Gives the Agent, with the table of tools up to date.
   *
   * @throws whatever the provider throws: there is no Agent
   */
  async ready(): Promise<SmcpAgent> {
    let agent: SmcpAgent;
    try {
      agent = await this.provider();
    } catch (error) {
      this.#wasMissing = true;
      throw error;
    }
    if (this.#isClosed) throw new Error("The MCP server is closed");
    if (agent !== this.#agent) this.#follow(agent);
    let waited: Promise<void>;
    do { // an Agent that replaces another one meanwhile has to settle as well
      waited = this.#settled;
      await waited;
    } while (waited !== this.#settled);
    const followed = this.#followed;
    if (followed && agent === this.#agent) {
      await followed.inspected(SETTLE_TIMEOUT_MS);
      await this.#refresh(followed);
    }
    return agent;
  }

  /** Adds a listener for what changes in what clients see; returns what removes it. */
  onChange(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends following the Agent, which stays as it is. */
  close(): void {
    this.#isClosed = true;
    this.#unfollow();
    this.catalogue.close();
    this.#listeners.clear();
  }

  #follow(agent: SmcpAgent): void {
    const wasSeen = this.#followed !== undefined || this.#wasMissing;
    this.#unfollow();
    const path = officePathOf(agent);
    if (path.id === undefined) path.name(crypto.randomUUID());
    const followed = new FollowedAgent(agent, () => {
      if (followed === this.#followed && this.#isSettled) this.#notifySoon();
    });
    this.#agent = agent;
    this.#followed = followed;
    this.#offs = this.reads.watch(agent);
    this.#settled = this.#settle(followed, wasSeen);
    this.#settled.catch(() => {}); // closed meanwhile
  }

  async #settle(followed: FollowedAgent, wasSeen: boolean): Promise<void> {
    await followed.settled(SETTLE_TIMEOUT_MS, this.#waitedFor);
    if (followed !== this.#followed) return;
    this.#isSettled = true;
    await this.#refresh(followed);
    if (followed !== this.#followed) return;
    if (wasSeen) this.#notifySoon();
    else this.#isChanged = false;
  }

  #unfollow(): void {
    this.#followed?.end();
    this.#followed = undefined;
    this.#agent = undefined;
    for (const off of this.#offs.splice(0)) off();
    this.#isSettled = false;
    // It would be of the Agent before, and keep the next one from notifying.
    clearTimeout(this.#burst);
    this.#burst = undefined;
  }

  #notifySoon(): void {
    this.#burst ??= setTimeout(() => {
      this.#burst = undefined;
      this.#notifyChange().catch(() => {}); // closed meanwhile
    }, BURST_MS);
  }

  async #notifyChange(): Promise<void> {
    if (this.#followed) await this.#refresh(this.#followed);
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.#notify({ kind: "tools_list_changed" });
  }

  async #refresh({ offers }: FollowedAgent): Promise<void> {
    if (await this.catalogue.update(offers)) this.#isChanged = true;
    const offices = this.offices.join();
    if (offices !== this.#notifiedOffices) this.#isChanged = true;
    this.#notifiedOffices = offices;
  }

  #notify(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
