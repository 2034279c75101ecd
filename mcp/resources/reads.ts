/**
 * The lists of resources and prompts of an office.
 *
 * A listing is many requests, so that each Computer's list is kept until the Computer notifies a
 * change. A slow Computer does not hold up the others: what comes late is notified as a change.
 *
 * @module
 */
import type { ServerEvent } from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import { resourcesOf, skillsOf } from "./shelf.ts";
import { uriOf } from "./uris.ts";
import type { Watches } from "./watches.ts";
import type { A2CSkillRef, Prompt } from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

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
  /** Whether a skill has, or may have, the name that a prompt has without its MCP server. */
  readonly isWhole?: boolean;
}

/** What an office has to read, resources and prompts, and what changes in it. */
export type Reads = ReturnType<typeof openReads>;

const KINDS = ["resources", "prompts"] as const;

/**
 * @param tell notifies all clients of a change
 * @param watches what clients have subscribed to
 * @param only the one Computer that is shown, by the URIs of its MCP servers too
 */
export function openReads(
  tell: (event: ServerEvent) => void,
  watches: Watches,
  only: string | undefined,
) {
  const changed = (kind: typeof KINDS[number]) =>
    tell({ kind: `${kind}_list_changed` });
  const lists = {
    resources: perComputer(resourcesOf, () => changed("resources")),
    prompts: perComputer(promptsOf, () => changed("prompts")),
  };
  const updated = (uri: string) => tell({ kind: "resource_updated", uri });
  /** Drops what was listed of a Computer, and says so. */
  const drop = (computer: string | undefined, kinds: typeof KINDS[number][]) =>
    kinds.filter((kind) =>
      computer !== undefined && lists[kind].forget(computer)
    ).forEach(changed);
  const dropAll = ({ computer }: { computer?: string }) =>
    drop(computer, [...KINDS]);
  return {
    ...lists,
    /** Listens to an Agent; returns what ends that. */
    watch(agent: SmcpAgent): (() => void)[] {
      watches.use(agent);
      for (const kind of KINDS) lists[kind].forget();
      return [
        agent.on("updateDesktop", ({ computer }) => {
          drop(computer, ["resources"]);
          updated(uriOf({ kind: "desktop", computer }));
          watches.wanted(computer, "window").forEach(updated);
        }),
        agent.on("updateFinder", ({ computer }) => {
          drop(computer, ["resources"]);
          watches.wanted(computer, "document").forEach(updated);
        }),
        agent.on("updateResources", ({ computer, mcp_server: server, uri }) => {
          if (uri === undefined) {
            // Whoever listed them may have done so before this process or this Agent was there.
            for (const kind of KINDS) lists[kind].forget(computer);
            return KINDS.forEach(changed);
          }
          if (server === undefined) return;
          updated(uriOf({ kind: "resource", computer, server, uri }));
          if (computer === only) updated(uri);
        }),
        agent.on("updateSkills", ({ computer }) => {
          dropAll({ computer });
          watches.wanted(computer, "skill").forEach(updated);
        }),
        agent.on("updateConfig", dropAll),
        agent.on("updateToolList", dropAll), // as MCP servers come and go
        agent.on("tools", dropAll),
      ];
    },
  };
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

/** How long a list waits for Computers; what comes later is notified as a change. */
const LIST_WAIT_MS = 4_000;

/**
 * A list of what each Computer of an office has, kept until the Computer says that it changed: one
 * listing is many requests.
 *
 * @param fetch fetches the list of one Computer
 * @param late called when a Computer has answered after a list had to do without it
 */
function perComputer<T>(
  fetch: (agent: SmcpAgent, computer: string) => Promise<T[]>,
  late: () => void,
) {
  let listedBy: SmcpAgent | undefined;
  const lists = new Map<string, { fetched: Promise<T[]>; done?: T[] }>();
  const listOf = (agent: SmcpAgent, computer: string) => {
    const known = lists.get(computer);
    if (known) return known;
    const list: { fetched: Promise<T[]>; done?: T[] } = {
      fetched: fetch(agent, computer).catch((): T[] => [])
        .then((fetched) => list.done = fetched),
    };
    lists.set(computer, list);
    return list;
  };
  return {
    /** Lists what the Computers have, in order. */
    async list(agent: SmcpAgent, computers: readonly string[]): Promise<T[]> {
      if (agent !== listedBy) lists.clear();
      listedBy = agent;
      const found = computers.map((computer) => listOf(agent, computer));
      const all = Promise.all(found.map(({ fetched }) => fetched));
      await withTimeout(LIST_WAIT_MS, () => all).catch(() => {});
      if (!found.every(({ done }) => done)) void all.then(late);
      return found.flatMap(({ done }) => done ?? []);
    },
    /** Drops what a Computer had, or all of them; returns whether there was anything. */
    forget(computer?: string): boolean {
      if (computer !== undefined) return lists.delete(computer);
      lists.clear();
      return true;
    },
  };
}
