/**
 * The table of all tools by their names: what is listed, and what a call finds there, or why it
 * cannot be called (spec §6, §7).
 *
 * @module
 */
import { authorizationAnswer } from "./oauth/authorized_fetch.ts";
import { describeState, type ServerView } from "./server_status.ts";
import { toSMCPTool } from "./tool_meta.ts";
import {
  clashText,
  clashTexts,
  isForbidden,
  type NamedTool,
  namedTools,
  namesOfTool,
  nameTools,
  toolName,
  type ToolNames,
} from "./tool_naming.ts";
import { ErrorCode, type SMCPTool } from "../../protocol/mod.ts";

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
  #known: { servers: ServerView[]; names: ToolNames } | undefined;

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
    return clashTexts(this.#table.names.clashes);
  }

  /** Forgets the names, after servers or their tools changed. */
  forget(): void {
    this.#known = undefined;
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
    const { servers, names } = this.#table;
    return resolveTool(name, servers, names);
  }

  get #running(): NamedTool[] {
    return [...this.#table.names.offers.values()]
      .filter(({ server }) => server.state === "running");
  }

  get #table(): { servers: ServerView[]; names: ToolNames } {
    if (this.#known) return this.#known;
    const servers = this.#views();
    const names = nameTools(servers, this.#bundleIds);
    return this.#known = { servers, names };
  }
}

/** The tool of a call, or why it cannot be called. */
export type ToolResolution =
  | { readonly kind: "call"; readonly target: NamedTool }
  | {
    readonly kind: "refuse";
    /** 4001, 4002, 4003, 4006 or 4007. */
    readonly code: number;
    /** For people and models. */
    readonly text: string;
    /** Metadata of the result beside the code. */
    readonly fields?: Readonly<Record<string, unknown>>;
  };

/**
 * Finds the tool of a call by its name (spec §6, §7).
 *
 * A tool that is unknown, clashing, or of a disabled server: 4001. Forbidden, by name or alias:
 * 4002. Of a server that is not running: 4003 with its state and the next attempt, or 4006 or 4007
 * when the server denies the Computer access.
 */
export function resolveTool(
  name: string,
  servers: readonly ServerView[],
  { bundleIds, offers, clashes }: ToolNames,
): ToolResolution {
  const target = offers.get(name);
  if (target) {
    return target.server.state === "running"
      ? { kind: "call", target }
      : notRunning(name, target.server);
  }
  const claimants = clashes.get(name);
  if (claimants) {
    return refuse(ErrorCode.TOOL_NOT_FOUND, clashText(name, claimants));
  }
  const enabled = servers.filter(({ state }) => state !== "disabled");
  const forbidding = enabled.find((server) => forbids(server, name, bundleIds));
  if (forbidding) {
    return refuse(
      ErrorCode.TOOL_DISABLED,
      `Tool "${name}" of MCP server "${forbidding.name}" is forbidden by the Computer's configuration`,
    );
  }
  const away = enabled.find((server) => isKnownToHave(server, name, bundleIds));
  return away
    ? notRunning(name, away)
    : refuse(ErrorCode.TOOL_NOT_FOUND, unknown(name, enabled, bundleIds));
}

const refuse = (code: number, text: string): ToolResolution => ({
  kind: "refuse",
  code,
  text,
});

/** Returns whether the configuration of a server forbids a tool, by any of the tool's names. */
function forbids(
  server: ServerView,
  name: string,
  bundleIds: boolean,
): boolean {
  const { forbidden_tools, tool_meta } = server.config;
  const tools = new Set([
    name,
    ...forbidden_tools,
    ...Object.keys(tool_meta),
    ...server.tools.map((tool) => tool.name),
  ]);
  return [...tools].some((tool) =>
    isForbidden(server, tool) &&
    (tool === name || toolName(server, tool, bundleIds) === name)
  );
}

/** Returns whether a stopped server has a tool; before its first start only its configuration tells. */
const isKnownToHave = (
  server: ServerView,
  name: string,
  bundleIds: boolean,
): boolean =>
  server.state !== "running" && (
    namedTools(server, bundleIds).some((named) => named.name === name) ||
    Object.keys(server.config.tool_meta).some((tool) =>
      toolName(server, tool, bundleIds) === name
    )
  );

const notRunning = (name: string, server: ServerView): ToolResolution =>
  server.refusal && server.state !== "stopped"
    ? {
      kind: "refuse",
      ...authorizationAnswer(
        name,
        server.name,
        server.refusal,
        server.address,
      ),
    }
    : refuse(
      ErrorCode.TOOL_EXECUTION_FAILED,
      `Cannot call "${name}": MCP server "${server.name}" ${
        describeState(server)
      }`,
    );

function unknown(
  name: string,
  servers: readonly ServerView[],
  bundleIds: boolean,
): string {
  const offered = servers.flatMap((server) =>
    server.tools
      .filter((tool) => namesOfTool(server, tool.name).includes(name))
      .map((tool) => toolName(server, tool.name, bundleIds))
      .filter((other) => other !== name)
      .map((other) => `"${other}"`)
  );
  const away = servers
    .filter(({ state }) => state !== "running")
    .map((server) => `"${server.name}" ${describeState(server)}`);
  return `There is no tool "${name}"` +
    (offered.length > 0 ? `; it is offered as ${offered.join(" and ")}` : "") +
    (away.length > 0 ? `; MCP server ${away.join(", ")}` : "");
}
