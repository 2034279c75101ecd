import type { SMCPTool } from "../../protocol/mod.ts";

/** A tool, and the Computer that offers it. */
export interface FoundTool {
  /** Name of the Computer. */
  readonly computer: string;
  /** The tool, as the Computer lists it. */
  readonly tool: SMCPTool;
}

/** Why a tool was not found: `not_found`, no Computer offers it, or `ambiguous`, several do. */
export type ToolLookupErrorCode = "not_found" | "ambiguous";

/** No Computer offers a tool, or several do. */
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

/** Lists the Computers that offer a tool of this name. */
export const offering = (
  tools: ReadonlyMap<string, readonly SMCPTool[]>,
  name: string,
): FoundTool[] =>
  [...tools].flatMap(([computer, offered]) => {
    const tool = offered.find((each) => each.name === name);
    return tool ? [{ computer, tool }] : [];
  });

/**
 * Chooses the one Computer that offers a tool.
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
  const quoted = JSON.stringify(name);
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
      `Cannot find tool ${quoted}: ${why}`,
      [],
    );
  }
  if (others.length === 0) return only;
  const computers = found.map(({ computer }) => computer);
  throw new ToolLookupError(
    "ambiguous",
    `Several Computers offer tool ${quoted} (${
      computers.join(", ")
    }); choose one with the option \`computer\``,
    computers,
  );
}
