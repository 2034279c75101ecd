import type {
  Resource as McpResource,
  ServerEvent,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import type { A2CSkillRef, Prompt } from "../../protocol/mod.ts";
import { PerComputer } from "./per_computer.ts";
import { resourcesOf } from "./shelf.ts";
import { skillsOf } from "./skills.ts";
import { uriOf } from "./uris.ts";
import type { Watches } from "./watches.ts";

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
   * @param tell tells all clients of a change
   * @param watches what clients want to be told of
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
