import type {
  Resource as McpResource,
  ServerEvent,
} from "@modelcontextprotocol/server";
import type { SmcpAgent } from "../../agent/mod.ts";
import type { Prompt } from "../../protocol/mod.ts";
import { PerComputer } from "./per_computer.ts";
import { resourcesOf } from "./shelf.ts";
import { uriOf } from "./uris.ts";

/** How long a Computer may take to list its prompts; Python's never answers. */
const PROMPTS_TIMEOUT_MS = 10_000;

/** A prompt, and the Computer that has it. */
export interface OfficePrompt {
  /** The Computer. */
  readonly computer: string;
  /** As its MCP server lists it. */
  readonly prompt: Prompt;
}

/** What an office has to read, resources and prompts, and what changes in it. */
export class Reads {
  /** The resources that can be listed. */
  readonly resources: PerComputer<McpResource>;
  /** The prompts of all MCP servers. */
  readonly prompts: PerComputer<OfficePrompt>;
  readonly #tell: (event: ServerEvent) => void;

  /** @param tell tells all clients of a change */
  constructor(tell: (event: ServerEvent) => void) {
    this.#tell = tell;
    this.resources = new PerComputer(resourcesOf, () => {
      tell({ kind: "resources_list_changed" });
    });
    this.prompts = new PerComputer(
      async (agent, computer) =>
        (await agent.getPrompts(computer, { timeoutMs: PROMPTS_TIMEOUT_MS }))
          .map((prompt) => ({ computer, prompt })),
      () => tell({ kind: "prompts_list_changed" }),
    );
  }

  /** Listens to an Agent; returns what ends that. */
  watch(agent: SmcpAgent): (() => void)[] {
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
        const uri = uriOf({ kind: "desktop", computer });
        this.#tell({ kind: "resource_updated", uri });
      }),
      agent.on("updateFinder", resources),
      agent.on("updateConfig", all),
      agent.on("updateToolList", all), // as MCP servers come and go
      agent.on("tools", all),
    ];
  }
}
