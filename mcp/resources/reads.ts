/**
 * The lists of resources and prompts of an office.
 *
 * A listing is many requests, so that each Computer's list is kept until the Computer notifies a
 * change. A slow Computer does not hold up the others: what comes late is notified as a change.
 *
 * @module
 */
import type { Resource, ServerEvent } from "@modelcontextprotocol/server";
import type { OfficeAgent } from "../office_agent.ts";
import { type OfficeTemplate, resourcesOf, skillsOf } from "./contents.ts";
import { type Place, uriOf, urisOf } from "./uris.ts";
import type { Watches } from "./watches.ts";
import type { A2CSkillRef, Prompt } from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** How long a Computer may take to list its prompts or templates; Python's never answers. */
const LIST_TIMEOUT_MS = 10_000;

/** The most templates of a Computer. */
const MAX_TEMPLATES = 1_000;

/** A prompt, and the Computer that has it. */
export interface OfficePrompt {
  /** The Computer. */
  readonly computer: string;
  /** As its MCP server lists it. */
  readonly prompt: Prompt;
  /** The skill whose instructions it is, in place of one of an MCP server. */
  readonly skill?: A2CSkillRef;
  /** Whether a skill has, or may have, the name that a prompt has without its MCP server. */
  readonly isWhole?: boolean;
}

const KINDS = ["resources", "prompts"] as const;
type Kind = typeof KINDS[number];

/** What an office has to read, resources and prompts, and what changes in it. */
export class Reads {
  /** The resources of all Computers. */
  readonly resources: ComputerLists<Resource> = new ComputerLists(
    resourcesOf,
    () => this.#changed("resources"),
  );
  /** The templates of the MCP servers of all Computers. */
  readonly templates: ComputerLists<OfficeTemplate> = new ComputerLists(
    templatesOf,
    () => this.#changed("resources"),
  );
  /** The prompts of all Computers. */
  readonly prompts: ComputerLists<OfficePrompt> = new ComputerLists(
    promptsOf,
    () => this.#changed("prompts"),
  );
  readonly #notify: (event: ServerEvent) => void;
  readonly #watches: Watches;
  readonly #only: string | undefined;

  /**
   * @param notify notifies all clients of a change
   * @param watches what clients have subscribed to
   * @param only the one Computer that is shown, by the URIs of its MCP servers too
   */
  constructor(
    notify: (event: ServerEvent) => void,
    watches: Watches,
    only: string | undefined,
  ) {
    this.#notify = notify;
    this.#watches = watches;
    this.#only = only;
  }

  /** Listens to an Agent; returns what ends that. */
  watch(agent: OfficeAgent): (() => void)[] {
    for (const kind of KINDS) this[kind].forget();
    this.templates.forget();
    const compareAll = ({ computer }: { computer?: string }) => {
      if (computer !== undefined) this.templates.forget(computer);
      this.#compare(computer, KINDS);
    };
    return [
      () => KINDS.forEach((kind) => this[kind].forget()),
      agent.on("updateDesktop", ({ computer }) => {
        this.#compare(computer, ["resources"]);
        this.#updated(uriOf({ kind: "desktop", computer }));
        this.#allUpdated(computer, "window");
      }),
      agent.on("updateFinder", ({ computer }) => {
        this.#compare(computer, ["resources"]);
        this.#allUpdated(computer, "document");
      }),
      agent.on("updateResources", (changed) => {
        const { computer, mcp_server: server, uri, list } = changed;
        if (uri === undefined) {
          // A client may have listed them before this process or this Agent was there.
          const isOne = list !== undefined && KINDS.includes(list);
          for (const kind of isOne ? [list] : KINDS) {
            this[kind].forget(computer);
            this.#changed(kind);
          }
          if (list !== "prompts") this.templates.forget(computer);
          return;
        }
        if (server === undefined) return;
        for (
          const each of urisOf({ kind: "resource", computer, server, uri })
        ) {
          this.#updated(each);
        }
        if (computer === this.#only) this.#updated(uri);
      }),
      agent.on("updateSkills", ({ computer }) => {
        compareAll({ computer });
        this.#allUpdated(computer, "skill");
      }),
      agent.on("updateConfig", compareAll),
      agent.on("updateToolList", compareAll), // as MCP servers come and go
      agent.on("tools", compareAll),
    ];
  }

  #changed(kind: Kind): void {
    this.#notify({ kind: `${kind}_list_changed` });
  }

  #updated(uri: string): void {
    this.#notify({ kind: "resource_updated", uri });
  }

  /** Notifies all subscriptions to a kind of resources of a Computer. */
  #allUpdated(computer: string, kind: Place["kind"]): void {
    for (const uri of this.#watches.subscribed(computer, kind)) {
      this.#updated(uri);
    }
  }

  /** Asks a Computer for lists again that may have changed; what differs is notified. */
  #compare(computer: string | undefined, kinds: readonly Kind[]): void {
    if (computer === undefined) return;
    for (const kind of kinds) this[kind].compare(computer);
  }
}

/** Lists the templates of a Computer's MCP servers. */
async function templatesOf(
  agent: OfficeAgent,
  computer: string,
): Promise<OfficeTemplate[]> {
  const timeoutMs = LIST_TIMEOUT_MS;
  const templates = await agent.getResourceTemplates(computer, { timeoutMs });
  return templates.slice(0, MAX_TEMPLATES)
    .map((template) => ({ computer, template }));
}

/** Lists the prompts of a Computer's MCP servers, and its skills as such. */
async function promptsOf(
  agent: OfficeAgent,
  computer: string,
): Promise<OfficePrompt[]> {
  const [prompts, skills] = await Promise.all([
    agent.getPrompts(computer, { timeoutMs: LIST_TIMEOUT_MS })
      .catch((): Prompt[] => []),
    skillsOf(agent, computer),
  ]);
  const named = new Set(skills?.map(({ name }) => name));
  return [
    ...prompts.map((prompt) => ({
      computer,
      prompt,
      isWhole: skills === undefined || named.has(prompt.name),
    })),
    ...(skills ?? []).map((skill): OfficePrompt => ({
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

/** Changes within this time are compared once: a Computer that reconnects causes several. */
const COMPARE_AFTER_MS = 50;
/** How long a list waits for Computers; what comes later is notified as a change. */
const LIST_WAIT_MS = 4_000;

/** What a Computer has listed; `done` is absent until it answers. */
interface ComputerList<T> {
  readonly fetched: Promise<T[]>;
  done?: T[];
}

/** A list of a Computer that may have changed. */
interface Doubted<T> {
  /** What clients have seen of it last, if it is known. */
  readonly before: ComputerList<T> | undefined;
  readonly timer: ReturnType<typeof setTimeout>;
}

/**
 * The lists of one kind of each Computer of an office, kept until the Computer notifies a change: one
 * listing is many requests.
 */
class ComputerLists<T> {
  readonly #fetch: (agent: OfficeAgent, computer: string) => Promise<T[]>;
  readonly #changed: () => void;
  readonly #lists = new Map<string, ComputerList<T>>();
  readonly #doubted = new Map<string, Doubted<T>>();
  /** The Computers that clients have seen lists of. */
  readonly #asked = new Set<string>();
  #agent: OfficeAgent | undefined;

  /**
   * @param fetch fetches the list of one Computer
   * @param changed called when clients would see another list, also of a Computer that was late
   */
  constructor(
    fetch: (agent: OfficeAgent, computer: string) => Promise<T[]>,
    changed: () => void,
  ) {
    this.#fetch = fetch;
    this.#changed = changed;
  }

  /** Lists what the Computers have, in order. */
  async list(agent: OfficeAgent, computers: readonly string[]): Promise<T[]> {
    if (agent !== this.#agent) {
      this.forget();
      this.#asked.clear();
    }
    this.#agent = agent;
    for (const computer of computers) this.#asked.add(computer);
    const found = computers.map((computer) => this.#of(agent, computer));
    const all = Promise.all(found.map(({ fetched }) => fetched));
    await withTimeout(LIST_WAIT_MS, () => all).catch(() => {});
    if (!found.every(({ done }) => done)) void all.then(this.#changed);
    return found.flatMap(({ done }) => done ?? []);
  }

  /** Drops what a Computer had, or all of them. */
  forget(computer?: string): void {
    const known = computer === undefined
      ? [...this.#lists.keys(), ...this.#doubted.keys()]
      : [computer];
    for (const each of known) {
      this.#lists.delete(each);
      clearTimeout(this.#doubted.get(each)?.timer);
      this.#doubted.delete(each);
    }
  }

  /**
   * Asks a Computer for its list again, a moment later, where clients have listed anything: they are
   * notified if it is another one. Until then the old one counts no more.
   */
  compare(computer: string): void {
    const agent = this.#agent;
    const doubted = this.#doubted.get(computer);
    const isKnown = doubted !== undefined || this.#lists.has(computer);
    // Nothing was listed, or not again since the last notification.
    const isPointless = !isKnown && this.#asked.has(computer);
    if (agent === undefined || isPointless) return;
    clearTimeout(doubted?.timer);
    const timer = setTimeout(() => {
      void this.#compareNow(agent, computer);
    }, COMPARE_AFTER_MS);
    const before = doubted ? doubted.before : this.#lists.get(computer);
    this.#lists.delete(computer);
    this.#doubted.set(computer, { before, timer });
  }

  async #compareNow(agent: OfficeAgent, computer: string): Promise<void> {
    const doubted = this.#doubted.get(computer);
    const list = this.#of(agent, computer);
    const [now, before] = await Promise.all([
      list.fetched,
      doubted?.before?.fetched ?? [],
    ]);
    // Another change has come meanwhile, and compares with the same one.
    if (this.#doubted.get(computer) !== doubted) return;
    this.#doubted.delete(computer);
    if (JSON.stringify(now) !== JSON.stringify(before)) this.#changed();
  }

  #of(agent: OfficeAgent, computer: string): ComputerList<T> {
    const known = this.#lists.get(computer);
    if (known) return known;
    const list: ComputerList<T> = {
      fetched: this.#fetch(agent, computer).catch((): T[] => [])
        .then((fetched) => list.done = fetched),
    };
    this.#lists.set(computer, list);
    return list;
  }
}
