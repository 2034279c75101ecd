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
import { mcpServerOf, type SMCPTool } from "../../protocol/mod.ts";
import { Catalogue } from "../tools/catalogue.ts";
import { messageOf } from "../tools/result.ts";
import type { ResolvedOptions } from "../options.ts";
import { openReads } from "../resources/reads.ts";
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

/** What is wrong at a Computer, as far as an Agent can know. */
export interface Trouble {
  /** Why its tools could not be fetched. */
  unfetched?: string;
  /** MCP servers of its configuration that offer no tool. */
  silent?: readonly string[];
}

/** What the MCP servers of one view share. */
export type OfficeView = ReturnType<typeof openView>;

/**
 * Opens what the MCP servers of one view share: the Agent, the table of tools, and what changes in it.
 *
 * @param provider gives the Agent
 * @param watches what clients have subscribed to, shared by all views of the Agent
 * @throws {TypeError} naming an option that cannot be used
 */
export function openView(
  provider: AgentProvider,
  options: ResolvedOptions,
  watches: Watches,
) {
  const listeners = new Set<(event: ServerEvent) => void>();
  const tell = (event: ServerEvent) =>
    listeners.forEach((listener) => listener(event));
  const catalogue = new Catalogue(options);
  const reads = openReads(tell, watches, options.computer);
  const troubles = new Map<string, Trouble>();
  let current: SmcpAgent | undefined;
  let offs: (() => void)[] = [];
  let settled: Promise<void> = Promise.resolve();
  let burst: ReturnType<typeof setTimeout> | undefined;
  /** Whether clients would see something else than when they were last told. */
  let isChanged = false;
  /** Computers whose MCP servers did not offer a tool in time: they may be for reading alone. */
  const waitedFor = new Set<string>();
  /** Whether a client was notified that there is no Agent. */
  let wasMissing = false;
  let isClosed = false;
  /** The offices that clients were last told of, as a text. */
  let toldOffices = "";

  function watch(agent: SmcpAgent): void {
    const wasSeen = offs.length > 0 || wasMissing;
    unwatch();
    current = agent;
    const path = officePathOf(agent);
    if (path.id === undefined) path.name(crypto.randomUUID());
    troubles.clear();
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, SETTLE_TIMEOUT_MS);
    let isSettled = false;
    const settling = Promise.race([settle(agent), limit.promise]);
    settled = settling.then(async () => {
      clearTimeout(timer);
      isSettled = true;
      if (agent !== current) return;
      for (const each of starting(agent)) waitedFor.add(each);
      await refresh(agent);
      if (agent !== current) return;
      if (wasSeen) tellSoon(agent);
      else isChanged = false;
    });
    settled.catch(() => {}); // closed meanwhile
    offs = [
      limit.resolve,
      ...reads.watch(agent),
      agent.on("tools", ({ computer, tools }) => {
        if (tools === undefined) troubles.delete(computer);
        if (!isSettled) return;
        tellSoon(agent);
        if (tools !== undefined) void inspect(agent, computer, tools);
      }),
      agent.on("toolsFailed", ({ computer, error }) => {
        troubles.set(computer, { unfetched: messageOf(error) });
      }),
    ];
  }

  async function settle(agent: SmcpAgent): Promise<void> {
    do {
      await agent.toolsSettled();
      const inspections = [...agent.tools].map(([computer, tools]) =>
        inspect(agent, computer, tools)
      );
      await Promise.all(inspections);
      // A client that lists tools once would never see those of a Computer that is just starting.
    } while (
      agent === current && starting(agent).length > 0 && await nextTools(agent)
    );
  }

  /** The Computers that have MCP servers, and not a single tool of them yet. */
  const starting = (agent: SmcpAgent): string[] =>
    [...agent.tools].filter(([computer, tools]) =>
      tools.length === 0 && !waitedFor.has(computer) &&
      troubles.get(computer)?.silent !== undefined
    ).map(([computer]) => computer);

  /** Resolves when the tools of a Computer change; not at all once another Agent is watched. */
  const nextTools = (agent: SmcpAgent): Promise<true> =>
    new Promise((resolve) => {
      offs.push(agent.on("tools", () => resolve(true)));
    });

  function unwatch(): void {
    for (const off of offs.splice(0)) off();
    // It would be of the Agent before, and keep the next one from telling.
    clearTimeout(burst);
    burst = undefined;
    current = undefined;
  }

  /** Looks for MCP servers that are configured and offer nothing; older Computers do not say whose a tool is. */
  async function inspect(
    agent: SmcpAgent,
    computer: string,
    tools: readonly SMCPTool[],
  ): Promise<void> {
    const offering = new Set(tools.map(mcpServerOf));
    troubles.delete(computer); // it has been fetched
    if (offering.has(undefined)) return;
    try {
      const { servers } = await agent.getConfig(computer);
      if (agent !== current || agent.tools.get(computer) !== tools) return;
      const silent = Object.entries(servers)
        .filter(([key, { disabled }]) => !disabled && !offering.has(key))
        .map(([key]) => key);
      if (silent.length > 0) troubles.set(computer, { silent });
    } catch {
      // It is about a hint: what cannot be asked for is left out.
    }
  }

  function tellSoon(agent: SmcpAgent): void {
    burst ??= setTimeout(() => {
      burst = undefined;
      tellChange(agent).catch(() => {}); // closed meanwhile
    }, BURST_MS);
  }

  async function tellChange(agent: SmcpAgent): Promise<void> {
    if (agent === current) await refresh(agent);
    if (!isChanged) return;
    isChanged = false;
    tell({ kind: "tools_list_changed" });
  }

  async function refresh(agent: SmcpAgent): Promise<void> {
    if (await catalogue.update(agent.tools)) isChanged = true;
    const now = officesOf(agent).join();
    if (now !== toldOffices) isChanged = true;
    toldOffices = now;
  }

  const officesOf = (agent: SmcpAgent): string[] =>
    officePathOf(agent).ids(agent.tools.values());

  return {
    provider,
    watches,
    /** The table of tools. */
    catalogue,
    /** The resources and prompts. */
    reads,
    /** What is wrong, by Computer. */
    troubles,
    /** The office's name, once somebody has asked for its Agent. */
    get office(): string | undefined {
      return current?.office;
    },
    /** The ids of this office and of those behind it; none without an Agent. */
    offices: (): readonly string[] => current ? officesOf(current) : [],
    /**
     * The Agent, with the table of tools up to date.
     *
     * @throws whatever the provider says: there is no Agent
     */
    async ready(): Promise<SmcpAgent> {
      let agent: SmcpAgent;
      try {
        agent = await provider();
      } catch (error) {
        wasMissing = true;
        throw error;
      }
      if (isClosed) throw new Error("The MCP server is closed");
      if (agent !== current) watch(agent);
      let waited: Promise<void>;
      do { // an Agent that replaces another one meanwhile has to settle as well
        waited = settled;
        await waited;
      } while (waited !== settled);
      if (agent === current) await refresh(agent);
      return agent;
    },
    /** Adds a listener for what changes in what clients see; returns what removes it. */
    onChange(listener: (event: ServerEvent) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Listens no more; the Agent stays as it is. */
    close(): void {
      isClosed = true;
      unwatch();
      catalogue.close();
      listeners.clear();
    },
  };
}
