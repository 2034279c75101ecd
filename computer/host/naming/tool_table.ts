import type { SMCPTool } from "../../../protocol/mod.ts";
import { clashTexts } from "./clash_text.ts";
import { resolveTool, type ToolResolution } from "./resolve_tool.ts";
import type { ServerView } from "../server_status.ts";
import { toSMCPTool } from "../tool_meta.ts";
import { type NamedTool, nameTools, type ToolNames } from "./tool_naming.ts";

/** A tool that can be called right now. */
export interface OfferedTool {
  /** The name by which Agents call it. */
  readonly name: string;
  /** The name of the MCP server that has it. */
  readonly server: string;
  /** What identifies that server, where it is not the name. */
  readonly bundleId?: string;
}

/** The one table of the tools of all MCP servers by their names: what is listed is what is called. */
export class ToolTable {
  readonly #views: () => ServerView[];
  #bundleIds = false;
  #names: ToolNames | undefined;

  /** @param views returns the input of the rules about tools */
  constructor(views: () => ServerView[]) {
    this.#views = views;
  }

  /** Whether names begin with the `bundle_id` of their server, as they do since 0.3. */
  get bundleIds(): boolean {
    return this.#bundleIds;
  }

  set bundleIds(bundleIds: boolean) {
    this.#bundleIds = bundleIds;
    this.forget();
  }

  /** Descriptions of clashing names. */
  get clashes(): string[] {
    return clashTexts(this.#table.clashes);
  }

  /** Forgets the names, after servers or their tools changed. */
  forget(): void {
    this.#names = undefined;
  }

  /** Lists the tools that can be called right now. */
  tools(): SMCPTool[] {
    return this.#running.map(toSMCPTool);
  }

  /** Lists the names of those tools, each with its MCP server. */
  offers(): OfferedTool[] {
    return this.#running.map((
      { name, server: { name: server, bundleId } },
    ) => ({
      name,
      server,
      ...(bundleId !== server && { bundleId }),
    }));
  }

  /** Finds the tool of a call by its name. */
  resolve(name: string): ToolResolution {
    return resolveTool(name, this.#views(), this.#table);
  }

  get #running(): NamedTool[] {
    return [...this.#table.offers.values()]
      .filter(({ server }) => server.state === "running");
  }

  get #table(): ToolNames {
    return this.#names ??= nameTools(this.#views(), this.#bundleIds);
  }
}
