/**
 * What all MCP servers of one view share: the Agent, its tools, and what changes.
 *
 * Every request asks for the Agent again. Another one than before is followed: the first request
 * waits for the offers of its Computers, for some seconds at most; later changes are
 * notified together, a moment after the first of them.
 *
 * @module
 */
import type { ServerEvent } from "@modelcontextprotocol/server";
import { officePathOf } from "../../agent/office_path.ts";
import type { SmcpAgent } from "../../agent/mod.ts";
import { ChosenComputers, type OfficeAgent } from "../office_agent.ts";
import { Catalogue } from "../tools/catalogue.ts";
import { FollowedAgent, type Trouble } from "./followed_agent.ts";
import { FollowedInstructions } from "./server_instructions.ts";
import type { ResolvedOptions } from "../options.ts";
import { Links } from "../resources/links.ts";
import { Reads } from "../resources/reads.ts";
import type { Place } from "../resources/uris.ts";
import type { Subscription, Watches } from "../resources/watches.ts";
import { isChosen } from "../../shared/computer_choice.ts";

/**
 * Gives the Agent of the office, joined. It is called for every request, and gives the same
 * one for as long as that keeps its seat; a rejection has the reason why there is none.
 */
export type AgentProvider = () => SmcpAgent | Promise<SmcpAgent>;

/** How long the first request waits for the tools of all Computers; the rest is notified when it comes. */
const SETTLE_TIMEOUT_MS = 5_000;
/** Changes within this time are notified as one: a Computer that reconnects causes three. */
export const BURST_MS = 50;

/** The subscription to what never changes. */
const NEVER: Subscription = { ready: Promise.resolve(), end() {} };

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
  /** The links that clients were shown. */
  readonly links: Links = new Links();
  /** What a person has chosen of the office; absent for all of it. */
  readonly #choice: ResolvedOptions["computers"];
  readonly #listeners = new Set<(event: ServerEvent) => void>();
  /** Computers whose MCP servers did not offer a tool in time. */
  readonly #waitedFor = new Set<string>();
  #following: Following | undefined;
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
    this.#choice = options.computers;
    this.catalogue = new Catalogue(options);
    const notify = (event: ServerEvent) => this.#notify(event);
    this.reads = new Reads(notify, watches, options.computer);
  }

  /** What is wrong, by Computer. */
  get troubles(): ReadonlyMap<string, Trouble> {
    return this.#following?.computers.troubles ?? NO_TROUBLES;
  }

  /** The instructions of MCP servers that clients may see; empty for none. */
  async serverInstructions(): Promise<string> {
    return await this.#following?.instructions.text(this.catalogue) ?? "";
  }

  /** The office's name, once a request has asked for its Agent. */
  get office(): string | undefined {
    return this.#following?.agent.office;
  }

  /** The ids of this office and of those behind it; none without an Agent. */
  get offices(): readonly string[] {
    const { whole, agent } = this.#following ?? {};
    return whole && agent ? officePathOf(whole).ids(agent.tools.values()) : [];
  }

  /**
   * Gives the Agent, with the table of tools up to date.
   *
   * @throws whatever the provider throws: there is no Agent
   */
  async ready(): Promise<OfficeAgent> {
    let whole: SmcpAgent;
    try {
      whole = await this.provider();
    } catch (error) {
      this.#wasMissing = true;
      throw error;
    }
    if (this.#isClosed) throw new Error("The MCP server is closed");
    if (whole !== this.#following?.whole) this.#follow(whole);
    let waited: Following | undefined;
    do { // an Agent that replaces another one meanwhile has to settle as well
      waited = this.#following;
      await waited?.settled;
    } while (waited !== this.#following);
    if (waited?.whole !== whole) return this.#shown(whole);
    await waited.computers.inspected(SETTLE_TIMEOUT_MS);
    await this.#refresh(waited);
    return waited.agent;
  }

  /**
   * As {@linkcode OfficeView.ready}, for a list: waits some seconds for MCP servers that start, since clients
   * may list once.
   */
  async complete(): Promise<OfficeAgent> {
    const agent = await this.ready();
    const following = this.#following;
    if (following?.agent === agent) {
      await following.computers.started(SETTLE_TIMEOUT_MS);
      await this.#refresh(following);
    }
    return agent;
  }

  /**
   * Subscribes a client to a resource. Of a Computer that is not chosen it gets no notification, as of one that
   * is away.
   */
  subscribe(place: Place): Subscription {
    const isShown = !this.#choice || isChosen(this.#choice, place.computer);
    return isShown ? this.watches.subscribe(place) : NEVER;
  }

  /** Adds a listener for what changes in what clients see; returns what removes it. */
  onChange(listener: (event: ServerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends following the Agent, which stays as it is. */
  close(): void {
    this.#isClosed = true;
    this.#following?.end();
    this.#following = undefined;
    this.catalogue.close();
    this.#listeners.clear();
  }

  /** Returns the part of an Agent that clients may see. */
  #shown(whole: SmcpAgent): OfficeAgent {
    return this.#choice ? new ChosenComputers(whole, this.#choice) : whole;
  }

  #follow(whole: SmcpAgent): void {
    const wasSeen = this.#following !== undefined || this.#wasMissing;
    this.#following?.end();
    const path = officePathOf(whole);
    if (path.id === undefined) path.name(crypto.randomUUID());
    this.watches.use(whole); // those of all views
    const following: Following = new Following(whole, this.#shown(whole), {
      reads: this.reads,
      waitedFor: this.#waitedFor,
      settled: () => this.#settled(following, wasSeen),
      changed: () => this.#notifyChange(following),
    });
    this.#following = following;
  }

  async #settled(following: Following, wasSeen: boolean): Promise<void> {
    await this.#refresh(following);
    if (following !== this.#following) return;
    if (wasSeen) following.changeSoon();
    else this.#isChanged = false;
  }

  async #notifyChange(following: Following): Promise<void> {
    await this.#refresh(following);
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.#notify({ kind: "tools_list_changed" });
  }

  async #refresh(following: Following): Promise<void> {
    const { version, offers } = following.computers;
    if (version === following.shown) return;
    if (await this.catalogue.update(offers)) this.#isChanged = true;
    const offices = this.offices.join();
    if (offices !== this.#notifiedOffices) this.#isChanged = true;
    this.#notifiedOffices = offices;
    following.shown = version;
  }

  #notify(event: ServerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** What {@linkcode Following} works with. */
interface FollowingParts {
  readonly reads: Reads;
  /** Computers whose MCP servers did not offer a tool in time. */
  readonly waitedFor: Set<string>;
  /** Called when the Agent's Computers have been waited for. */
  settled(): Promise<void>;
  /** Called a moment after the first of some changes. */
  changed(): Promise<void>;
}

/** The Agent that a view follows, until another one replaces it. */
class Following {
  readonly whole: SmcpAgent;
  /** What clients may see of it. */
  readonly agent: OfficeAgent;
  /** What its Computers offer. */
  readonly computers: FollowedAgent;
  /** What its MCP servers instruct models to. */
  readonly instructions: FollowedInstructions;
  /** Resolves when its Computers have been waited for. */
  readonly settled: Promise<void>;
  /** The version of its Computers that clients are shown. */
  shown: number | undefined;
  readonly #parts: FollowingParts;
  readonly #offs: (() => void)[];
  /** Whether its Computers have been waited for: before, nothing is notified. */
  #isSettled = false;
  #burst: ReturnType<typeof setTimeout> | undefined;
  #hasEnded = false;

  constructor(whole: SmcpAgent, agent: OfficeAgent, parts: FollowingParts) {
    this.whole = whole;
    this.agent = agent;
    this.#parts = parts;
    this.computers = new FollowedAgent(agent, () => {
      if (this.#isSettled) this.changeSoon();
    });
    this.instructions = new FollowedInstructions(agent);
    this.#offs = parts.reads.watch(agent);
    this.settled = this.#settle();
    this.settled.catch(() => {}); // closed meanwhile
  }

  /** Reports a change, together with others that follow it. */
  changeSoon(): void {
    if (this.#hasEnded) return;
    this.#burst ??= setTimeout(() => {
      this.#burst = undefined;
      this.#parts.changed().catch(() => {}); // closed meanwhile
    }, BURST_MS);
  }

  /** Follows no more; the Agent stays as it is. */
  end(): void {
    this.#hasEnded = true;
    this.computers.end();
    this.instructions.end();
    for (const off of this.#offs.splice(0)) off();
    clearTimeout(this.#burst);
  }

  async #settle(): Promise<void> {
    const { settled, waitedFor } = this.#parts;
    await this.computers.settled(SETTLE_TIMEOUT_MS, waitedFor);
    if (this.#hasEnded) return;
    this.#isSettled = true;
    await settled();
  }
}
