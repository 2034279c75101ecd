import type { Icon, ToolProgress } from "../../../protocol/mod.ts";
import { isRecord } from "../../util/values.ts";
import { hideSecrets } from "../../util/hide_secrets.ts";
import { isDeeper, MAX_DEPTH } from "../../../client/message_limits.ts";

/** The parts of a listed tool that the Computer uses. */
export interface McpTool {
  /** The server's name of the tool. */
  readonly name: string;
  /** The description; empty when there is none. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: Record<string, unknown>;
  /** JSON Schema of its structured result, if it has one. */
  readonly outputSchema: Record<string, unknown> | null;
  /** The annotations of MCP, such as `readOnlyHint`. */
  readonly annotations: Record<string, unknown> | undefined;
  /** Its name for people, if it has one. */
  readonly title?: string;
  /** Its pictures; those that cannot be used or are too large are left out. */
  readonly icons?: readonly Icon[];
  /** The server's metadata. */
  readonly meta: Record<string, unknown>;
}

/** The result of reading a tool: the tool, possibly repaired, or a problem. */
export interface ToolReading {
  /** Absent when the entry has no usable name. */
  readonly tool?: McpTool;
  /** What is wrong with the entry. */
  readonly problem?: string;
}

/** Maximum length of identifiers on the wire (spec §4). */
const MAX_NAME_LENGTH = 256;
/** Maximum depth of a tool, which is two levels deep in the answer to Agents. */
const MAX_TOOL_DEPTH = MAX_DEPTH - 2;

/** The most icons of a tool, and characters of each: all tools travel in one message. */
const MAX_ICONS = 4;
const MAX_ICON_LENGTH = 8_192;

/**
 * Reads one entry of `tools/list`; an invalid entry is skipped or repaired.
 *
 * The MCP SDK's schema would reject the whole list for one bad `outputSchema`.
 */
export function readTool(entry: unknown): ToolReading {
  if (!isRecord(entry) || typeof entry.name !== "string" || entry.name === "") {
    return { problem: "a tool without a name is left out" };
  }
  const { name, title, description, inputSchema, outputSchema } = entry;
  const { annotations, icons, _meta } = entry;
  if (name.length > MAX_NAME_LENGTH) {
    return {
      problem: `tool "${
        hideSecrets(name).slice(0, 40)
      }…" is left out: its name is longer than ${MAX_NAME_LENGTH} characters`,
    };
  }
  if (isDeeper(entry, MAX_TOOL_DEPTH)) {
    return {
      problem:
        `tool "${name}" is left out: it is nested deeper than ${MAX_TOOL_DEPTH} levels`,
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
      ...(typeof title === "string" && title !== "" && { title }),
      ...(Array.isArray(icons) && { icons: readIcons(icons) }),
      meta: isRecord(_meta) ? _meta : {},
    },
    ...(problems.length > 0 && {
      problem: `tool "${name}": ${problems.join(", ")}`,
    }),
  };
}

const readIcons = (icons: unknown[]): Icon[] =>
  icons.flatMap((icon): Icon[] => {
    if (!isRecord(icon)) return [];
    const { src, mimeType, sizes, theme } = icon;
    if (typeof src !== "string" || src.length > MAX_ICON_LENGTH) return [];
    const isText = (value: unknown) => typeof value === "string";
    return [{
      src,
      ...(typeof mimeType === "string" && { mimeType }),
      ...(Array.isArray(sizes) && sizes.every(isText) && { sizes }),
      ...(typeof theme === "string" && { theme }),
    }];
  }).slice(0, MAX_ICONS);

/** Reads a report of progress; `undefined` where it tells no number. */
export function readProgress(
  { progress, total, message }: Record<string, unknown>,
): ToolProgress | undefined {
  if (!isNumber(progress)) return undefined;
  return {
    progress,
    ...(isNumber(total) && { total }),
    ...(typeof message === "string" && { message }),
  };
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);
