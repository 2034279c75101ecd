import type { SMCPTool } from "../../protocol/mod.ts";
import { toolsMeant } from "../../protocol/payloads/tools.ts";

/** A tool, and the Computer that offers it. */
export interface FoundTool {
  /** Name of the Computer. */
  readonly computer: string;
  /** The tool, as the Computer lists it. */
  readonly tool: SMCPTool;
}

/** Why a tool was not found: `not_found`, no Computer offers it, or `ambiguous`, several MCP servers do. */
export type ToolLookupErrorCode = "not_found" | "ambiguous";

/** No Computer offers a tool, or several MCP servers do. */
export class ToolLookupError extends Error {
  /** Always `"ToolLookupError"`. */
  override readonly name = "ToolLookupError";
  /** The kind of failure. */
  readonly code: ToolLookupErrorCode;
  /** The Computers that offer it; none if it was not found. */
  readonly computers: readonly string[];

  /** Creates an error from its kind, a message for people, and the Computers. */
  constructor(
    code: ToolLookupErrorCode,
    message: string,
    computers: readonly string[],
  ) {
    super(message);
    this.code = code;
    this.computers = computers;
  }
}

/** Finds all tools that a name means: a whole one, or a tool's own name without its `bundle_id`. */
export const offering = (
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
): FoundTool[] =>
  [...tools].flatMap(([computer, offered]) =>
    toolsMeant(offered, name).map((tool) => ({ computer, tool }))
  );

/**
 * Says which tools a name means, and how to choose one of them.
 *
 * @param found at least two
 * @param option how the caller names the Computer
 */
export function ambiguity(
  name: string,
  found: readonly FoundTool[],
  option: string,
): string {
  const byComputer = Map.groupBy(found, ({ computer }) => computer);
  const computers = [...byComputer].map(([computer, own]) =>
    own.length > 1 ? `${computer}: ${wholeNames(own)}` : computer
  );
  const quoted = JSON.stringify(name);
  if (byComputer.size === 1) {
    return `several MCP servers offer the tool ${quoted}; give its whole name: ${
      wholeNames(found)
    }`;
  }
  return `several Computers offer the tool ${quoted} (${
    computers.join(", ")
  }); choose one with ${option}`;
}

const wholeNames = (found: readonly FoundTool[]): string =>
  found.map(({ tool }) => tool.name).join(" or ");

/**
 * Chooses the one tool that a name means.
 *
 * @param office where it was looked for; `undefined` if the Agent is in none
 * @throws {ToolLookupError}
 */
export function onlyOffering(
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
  office: string | undefined,
): FoundTool {
  const found = offering(tools, name);
  const [only, ...others] = found;
  if (only === undefined) {
    const why = office === undefined
      ? "the Agent is in no office; join one first"
      : tools.size === 0
      ? `there is no Computer in office ${JSON.stringify(office)}`
      : `none of the Computers in office ${JSON.stringify(office)} (${
        [...tools.keys()].join(", ")
      }) offers it; \`agent.tools\` has what they offer`;
    throw new ToolLookupError(
      "not_found",
      `Cannot find tool ${JSON.stringify(name)}: ${why}`,
      [],
    );
  }
  if (others.length === 0) return only;
  throw new ToolLookupError(
    "ambiguous",
    `Cannot choose: ${ambiguity(name, found, "the option `computer`")}`,
    [...new Set(found.map(({ computer }) => computer))],
  );
}
