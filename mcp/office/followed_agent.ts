/**
 * What the Computers of an office offer, by its Agent.
 *
 * A Computer's tools are offered once its configuration has been asked for, since their names depend
 * on it. It is asked for once, and again when the Computer has changed it or has reconnected; where it
 * cannot be had, names are whole until then.
 *
 * @module
 */
import type { OfficeAgent } from "../office_agent.ts";
import { ConnectionError } from "../../agent/mod.ts";
import {
  type GetComputerConfigRet,
  mcpServerOf,
  type SMCPTool,
} from "../../protocol/mod.ts";
import type { ComputerOffer } from "../tools/catalogue.ts";
import { messageOf } from "../tools/result.ts";
import { type ConfiguredServers, configuredServers } from "../tools/servers.ts";
import { withTimeout } from "../../shared/async.ts";

/** What is wrong at a Computer, as far as an Agent can know. */
export interface Trouble {
  /** Why its tools could not be fetched. */
  unfetched?: string;
  /** MCP servers of its configuration that offer no tool. */
  silent?: readonly string[];
  /** Which of its tools are missing, and why, in its own sentences. */
  missing?: readonly string[];
}

/** A Computer's configuration, as far as it can be known. */
interface Known {
  /** Those that are not disabled. */
  readonly enabled: readonly string[];
  /** Absent where it cannot be known. */
  readonly servers?: ConfiguredServers;
}

const UNKNOWN: Known = { enabled: [] };

/** What is read of an Agent. */
export type OfficeTools = Pick<
  OfficeAgent,
  | "tools"
  | "toolProblems"
  | "startingServers"
  | "on"
  | "toolsSettled"
  | "getConfig"
>;

/** Follows what the Computers of an Agent's office offer. */
export class FollowedAgent {
  /** What is wrong, by Computer. */
  readonly troubles: Map<string, Trouble> = new Map();
  readonly #agent: OfficeTools;
  readonly #offers = new Map<string, ComputerOffer>();
  readonly #configs = new Map<string, Promise<Known | undefined>>();
  /** Computers whose configuration is asked for now. */
  readonly #inspections = new Map<Promise<void>, string>();
  /** Computers that took too long for it. */
  readonly #slow = new Set<string>();
  /** When MCP servers of a Computer were first seen starting, in milliseconds of a monotonic clock. */
  readonly #startingSince = new Map<string, number>();
  readonly #offs: (() => void)[];
  readonly #end = Promise.withResolvers<void>();
  #hasEnded = false;
  #version = 0;

  /** @param changed called when a Computer offers something else, or has left */
  constructor(agent: OfficeTools, changed: () => void) {
    this.#agent = agent;
    const forget = ({ computer }: { computer?: string | undefined }) => {
      if (computer !== undefined) this.#configs.delete(computer);
    };
    this.#offs = [
      agent.on("updateConfig", forget),
      agent.on("enterOffice", forget),
      agent.on("tools", ({ computer, tools }) => {
        this.#version++;
        if (tools !== undefined) return this.#inspect(computer, tools, changed);
        forget({ computer });
        this.#startingSince.delete(computer);
        this.troubles.delete(computer);
        if (this.#offers.delete(computer)) changed();
      }),
      agent.on("toolsFailed", ({ computer, error }) => {
        this.troubles.set(computer, { unfetched: messageOf(error) });
      }),
    ];
    for (const [computer, tools] of agent.tools) {
      this.#inspect(computer, tools, changed);
    }
  }

  /** Changes with what the Agent has of tools, and with {@linkcode FollowedAgent.offers}. */
  get version(): number {
    return this.#version;
  }

  /** What each Computer offers; those are left out whose configuration has not been asked for. */
  get offers(): ReadonlyMap<string, ComputerOffer> {
    return this.#offers;
  }

  /**
   * Resolves when the offers of all Computers are known, after a time at most.
   *
   * @param waitedFor Computers whose MCP servers did not offer a tool in time: they may be for reading
   * alone; those of now are added
   */
  async settled(timeoutMs: number, waitedFor: Set<string>): Promise<void> {
    const settling = Promise.race([this.#settle(waitedFor), this.#end.promise]);
    await withTimeout(timeoutMs, () => settling).catch(() => {
      // What comes later is notified.
    });
    for (const each of this.#starting(waitedFor)) waitedFor.add(each);
  }

  /**
   * Resolves when those Computers offer their tools that the Agent has fetched, after a time at most;
   * those that took longer are not waited for again.
   */
  async inspected(timeoutMs: number): Promise<void> {
    if (this.#inspections.size === 0) return;
    const waiting = [...this.#inspections]
      .filter(([, computer]) => !this.#slow.has(computer));
    if (waiting.length === 0) return;
    const all = Promise.all(waiting.map(([inspection]) => inspection));
    await withTimeout(timeoutMs, () => all).catch(() => {
      for (const [inspection, computer] of waiting) {
        if (this.#inspections.has(inspection)) this.#slow.add(computer);
      }
    });
  }

  /**
   * Resolves when no MCP server starts for the first time any more, as far as Computers report it; for each
   * Computer after a time at most.
   */
  async started(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (let restMs; (restMs = this.#startsFor(timeoutMs, until)) > 0;) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const off = this.#agent.on("tools", () => resolve());
      const next = Promise.race([promise, this.#end.promise]);
      await withTimeout(restMs, () => next).catch(() => {
        // What comes later is notified.
      });
      off();
      if (this.#hasEnded) return;
    }
    await this.inspected(timeoutMs);
  }

  /**
   * How long Computers are still waited for that start MCP servers.
   *
   * @param until when that ends in any case
   */
  #startsFor(timeoutMs: number, until: number): number {
    const starting = [...this.#startingSince]
      .filter(([computer]) => this.#agent.startingServers.has(computer))
      .map(([, since]) => since + timeoutMs);
    return Math.min(until, Math.max(0, ...starting)) - performance.now();
  }

  /** Follows no more; the Agent stays as it is. */
  end(): void {
    this.#hasEnded = true;
    for (const off of this.#offs.splice(0)) off();
    this.#end.resolve();
  }

  async #settle(waitedFor: ReadonlySet<string>): Promise<void> {
    do {
      await this.#agent.toolsSettled();
      while (this.#inspections.size > 0) {
        await Promise.all(this.#inspections.keys());
      }
      // A client that lists tools once would never see those of a Computer that is just starting.
    } while (
      !this.#hasEnded && this.#starting(waitedFor).length > 0 &&
      await this.#nextTools()
    );
  }

  /** The Computers that have MCP servers, and not a single tool of them yet. */
  #starting(waitedFor: ReadonlySet<string>): string[] {
    return [...this.#offers].filter(([computer, { tools }]) =>
      tools.length === 0 && !waitedFor.has(computer) &&
      this.troubles.get(computer)?.silent !== undefined
    ).map(([computer]) => computer);
  }

  /** Resolves when the tools of a Computer change; not at all after the end. */
  #nextTools(): Promise<true> {
    return new Promise((resolve) => {
      this.#offs.push(this.#agent.on("tools", () => resolve(true)));
    });
  }

  #inspect(
    computer: string,
    tools: readonly SMCPTool[],
    changed: () => void,
  ): void {
    const missing = this.#agent.toolProblems.get(computer);
    const isStarting = this.#agent.startingServers.has(computer);
    if (isStarting && !this.#startingSince.has(computer)) {
      this.#startingSince.set(computer, performance.now());
    }
    // They have been fetched.
    if (missing) this.troubles.set(computer, { missing });
    else this.troubles.delete(computer);
    const inspection = this.#offer(computer, tools).then((isNew) => {
      if (isNew) changed();
    }).finally(() => this.#inspections.delete(inspection));
    this.#inspections.set(inspection, computer);
  }

  /** Offers the tools of a Computer, once its configuration is known; returns whether it does. */
  async #offer(
    computer: string,
    tools: readonly SMCPTool[],
  ): Promise<boolean> {
    const offering = new Set(tools.map(mcpServerOf));
    // Older Computers do not name the MCP server of a tool, and nothing depends on their configuration.
    const isUnnamed = offering.size === 1 && offering.has(undefined);
    const known = isUnnamed ? UNKNOWN : await this.#configOf(computer);
    const isOld = this.#hasEnded || this.#agent.tools.get(computer) !== tools;
    if (isOld || known === undefined) return false;
    const { enabled, servers } = known;
    this.#offers.set(computer, { tools, servers });
    this.#version++;
    const silent = offering.has(undefined)
      ? []
      : enabled.filter((server) => !offering.has(server));
    if (silent.length > 0) {
      this.troubles.set(computer, { ...this.troubles.get(computer), silent });
    }
    return true;
  }

  /** @returns `undefined` where the connection ended, after which the tools are fetched again */
  async #configOf(computer: string): Promise<Known | undefined> {
    for (;;) {
      const asking = this.#configs.get(computer) ?? this.#ask(computer);
      this.#configs.set(computer, asking);
      const known = await asking;
      const now = this.#configs.get(computer);
      if (now !== asking && !this.#hasEnded) continue; // it has changed meanwhile
      if (known === undefined) this.#configs.delete(computer);
      return known;
    }
  }

  async #ask(computer: string): Promise<Known | undefined> {
    let config: GetComputerConfigRet;
    try {
      config = await this.#agent.getConfig(computer);
    } catch (error) {
      const isLost = error instanceof ConnectionError &&
        ["offline", "lost", "closed"].includes(error.code);
      return isLost ? undefined : UNKNOWN;
    }
    const enabled = Object.entries(config.servers)
      .filter(([, { disabled }]) => !disabled).map(([key]) => key);
    return { enabled, servers: configuredServers(config) };
  }
}
