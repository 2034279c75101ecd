/**
 * The lists of resources and prompts of an office.
 *
 * A listing is many requests, so that each Computer's list is kept until the Computer notifies a
 * change. A slow Computer does not hold up the others: what comes late is notified as a change.
 *
 * @module
 */
import type {
  Resource as McpResource,
  ServerEvent,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { resourcesOf, skillsOf } from "./shelf.ts";
import { uriOf } from "./uris.ts";
import type { Watches } from "./watches.ts";
import type { A2CSkillRef, Prompt } from "../../protocol/mod.ts";

/** How long a Computer may take to list its prompts; Python's never answers. */
const PROMPTS_TIMEOUT_MS = 10_000;

/** A prompt, and the Computer that has it. */
export interface OfficePrompt {
  /** The Computer. */
  readonly computer: string;
  /** As its MCP server lists it. */
  readonly prompt: Prompt;
  /** The skill whose instructions it is, in place of one of an MCP server. */
  readonly skill?: A2CSkillRef;
}

/** What an office has to read, resources and prompts, and what changes in it. */
export class Reads {
  /** The resources that can be listed. */
  readonly resources: PerComputer<McpResource>;
  /** The prompts of all MCP servers. */
  readonly prompts: PerComputer<OfficePrompt>;
  readonly #tell: (event: ServerEvent) => void;
  readonly #watches: Watches;
  readonly #only: string | undefined;

  /**
   * @param tell notifies all clients of a change
   * @param watches what clients have subscribed to
   * @param only the one Computer that is shown, by the URIs of its MCP servers too
   */
  constructor(
    tell: (event: ServerEvent) => void,
    watches: Watches,
    only: string | undefined,
  ) {
    this.#tell = tell;
    this.#watches = watches;
    this.#only = only;
    this.resources = new PerComputer(resourcesOf, () => {
      tell({ kind: "resources_list_changed" });
    });
    this.prompts = new PerComputer(
      promptsOf,
      () => tell({ kind: "prompts_list_changed" }),
    );
  }

  readonly #updated = (uri: string): void =>
    this.#tell({ kind: "resource_updated", uri });

  /** Listens to an Agent; returns what ends that. */
  watch(agent: SmcpAgent): (() => void)[] {
    this.#watches.use(agent);
    this.resources.forget();
    this.prompts.forget();
    const resources = ({ computer }: { computer?: string }) => {
      if (computer === undefined) return;
      if (this.resources.forget(computer)) {
        this.#tell({ kind: "resources_list_changed" });
      }
    };
    const all = (member: { computer?: string }) => {
      resources(member);
      if (member.computer === undefined) return;
      if (this.prompts.forget(member.computer)) {
        this.#tell({ kind: "prompts_list_changed" });
      }
    };
    return [
      agent.on("updateDesktop", ({ computer }) => {
        resources({ computer });
        this.#updated(uriOf({ kind: "desktop", computer }));
        this.#watches.wanted(computer, "window").forEach(this.#updated);
      }),
      agent.on("updateFinder", ({ computer }) => {
        resources({ computer });
        this.#watches.wanted(computer, "document").forEach(this.#updated);
      }),
      agent.on("updateResources", ({ computer, mcp_server: server, uri }) => {
        if (uri === undefined) {
          // Whoever listed them may have done so before this process or this Agent was there.
          this.resources.forget(computer);
          this.prompts.forget(computer);
          this.#tell({ kind: "resources_list_changed" });
          return this.#tell({ kind: "prompts_list_changed" });
        }
        if (server === undefined) return;
        this.#updated(uriOf({ kind: "resource", computer, server, uri }));
        if (computer === this.#only) this.#updated(uri);
      }),
      agent.on("updateSkills", ({ computer }) => {
        all({ computer });
        this.#watches.wanted(computer, "skill").forEach(this.#updated);
      }),
      agent.on("updateConfig", all),
      agent.on("updateToolList", all), // as MCP servers come and go
      agent.on("tools", all),
    ];
  }
}

/** Lists the prompts of a Computer's MCP servers, and its skills as such. */
async function promptsOf(
  agent: SmcpAgent,
  computer: string,
): Promise<OfficePrompt[]> {
  const [prompts, skills] = await Promise.all([
    agent.getPrompts(computer, { timeoutMs: PROMPTS_TIMEOUT_MS })
      .catch((): Prompt[] => []),
    skillsOf(agent, computer),
  ]);
  return [
    ...prompts.map((prompt) => ({ computer, prompt })),
    ...skills.map((skill): OfficePrompt => ({
      computer,
      prompt: {
        name: skill.name,
        mcp_server: skill.source,
        description: skill.description,
      },
      skill,
    })),
  ];
}

/** How long a list waits for Computers; what comes later is notified as a change. */
const LIST_WAIT_MS = 4_000;

/** Fetches the list of one Computer. */
type Fetch<T> = (agent: SmcpAgent, computer: string) => Promise<T[]>;

/**
 * A list of what each Computer of an office has, kept until the Computer says that it changed: one
 * listing is many requests.
 */
class PerComputer<T> {
  readonly #fetch: Fetch<T>;
  readonly #late: () => void;
  #agent: SmcpAgent | undefined;
  readonly #lists = new Map<string, { fetched: Promise<T[]>; done?: T[] }>();

  /** @param late called when a Computer has answered after a list had to do without it */
  constructor(fetch: Fetch<T>, late: () => void) {
    this.#fetch = fetch;
    this.#late = late;
  }

  /** Lists what the Computers have, in order. */
  async list(agent: SmcpAgent, computers: readonly string[]): Promise<T[]> {
    if (agent !== this.#agent) this.#lists.clear();
    this.#agent = agent;
    const entries = computers.map((computer) => this.#entry(agent, computer));
    const { promise: waited, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LIST_WAIT_MS);
    const all = Promise.all(entries.map(({ fetched }) => fetched));
    await Promise.race([all, waited]);
    clearTimeout(timer);
    const isComplete = entries.every(({ done }) => done !== undefined);
    if (!isComplete) void all.then(this.#late);
    return entries.flatMap(({ done }) => done ?? []);
  }

  /** Drops what a Computer had; of all of them without a name. Returns whether it was listed. */
  forget(computer?: string): boolean {
    if (computer !== undefined) return this.#lists.delete(computer);
    const wasListed = this.#lists.size > 0;
    this.#lists.clear();
    return wasListed;
  }

  #entry(agent: SmcpAgent, computer: string) {
    const known = this.#lists.get(computer);
    if (known) return known;
    const entry: { fetched: Promise<T[]>; done?: T[] } = {
      fetched: this.#fetch(agent, computer).catch(() => []),
    };
    entry.fetched = entry.fetched.then((list) => entry.done = list);
    this.#lists.set(computer, entry);
    return entry;
  }
}
