import { isRecord } from "../../util/values.ts";
import { hideSecrets } from "../../util/hide_secrets.ts";
import { isDeeper, MAX_DEPTH } from "../../../client/message_limits.ts";

/** A tool as an MCP server lists it, reduced to what the Computer uses. */
export interface McpTool {
  /** The server's own name for it. */
  readonly name: string;
  /** Empty when the server gave none. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: Record<string, unknown>;
  /** JSON Schema of its structured result, if it has one. */
  readonly outputSchema: Record<string, unknown> | null;
  /** MCP's hints, such as `readOnlyHint`. */
  readonly annotations: Record<string, unknown> | undefined;
  /** The server's own metadata. */
  readonly meta: Record<string, unknown>;
}

/** A tool that could be read, if need be with a repair, or the reason why not. */
export interface ToolReading {
  /** Absent when the entry has no usable name. */
  readonly tool?: McpTool;
  /** What was wrong. */
  readonly problem?: string;
}

/** Longer names cannot be called: the wire's identifiers end there (spec §4). */
const LONGEST_NAME = 256;
/** A tool stands two levels deep in the list that Agents get. */
const DEEPEST = MAX_DEPTH - 2;

/**
 * Reads one entry of `tools/list`; an odd entry costs itself at most, never the list.
 *
 * The MCP SDK's own schema would reject the whole list for one bad `outputSchema`.
 */
export function readTool(entry: unknown): ToolReading {
  if (!isRecord(entry) || typeof entry.name !== "string" || entry.name === "") {
    return { problem: "a tool without a name is left out" };
  }
  const { name, description, inputSchema, outputSchema, annotations, _meta } =
    entry;
  if (name.length > LONGEST_NAME) {
    return {
      problem: `tool "${
        hideSecrets(name).slice(0, 40)
      }…" is left out: its name is longer than ${LONGEST_NAME} characters`,
    };
  }
  if (isDeeper(entry, DEEPEST)) {
    return {
      problem:
        `tool "${name}" is left out: it is nested deeper than ${DEEPEST} levels`,
    };
  }
  const problems = [
    ...(isRecord(inputSchema) ? [] : ["inputSchema is not an object"]),
    ...(outputSchema === undefined || outputSchema === null ||
        isRecord(outputSchema)
      ? []
      : ["outputSchema is not an object"]),
  ];
  return {
    tool: {
      name,
      description: typeof description === "string" ? description : "",
      inputSchema: isRecord(inputSchema) ? inputSchema : { type: "object" },
      outputSchema: isRecord(outputSchema) ? outputSchema : null,
      annotations: isRecord(annotations) ? annotations : undefined,
      meta: isRecord(_meta) ? _meta : {},
    },
    ...(problems.length > 0 && {
      problem: `tool "${name}": ${problems.join(", ")}`,
    }),
  };
}
