import { isRecord } from "../util/values.ts";
import {
  draftForeign,
  draftVsCodeInputs,
  type ForeignContext,
  isForeign,
} from "./foreign.ts";
import {
  below,
  type ConfigPath,
  type ConfigProblem,
  type Strictness,
  unknownFileFields,
} from "./problem.ts";

/** An MCP server of a file, converted to our own format but not validated. */
export interface ServerDraft {
  /** Its place in the file. */
  readonly path: ConfigPath;
  /** Its key in the file; absent in a list. */
  readonly key?: string;
  /** The server in our own format. */
  readonly entry: unknown;
  /** How unknown fields are treated. */
  readonly strictness: Strictness;
  /** Maps the path of a field of `entry` to its path in the file below `path`; default: identity. */
  readonly pathOf?: (field: ConfigPath) => ConfigPath;
  /** Its `server_parameters` with the variables of the other format; default: as in `entry`. */
  readonly raw?: Record<string, unknown>;
}

/** A file converted to our own format, not validated. */
interface ConfigDraft {
  /** The definitions of inputs. */
  readonly inputs: unknown;
  /** How unknown fields are treated. */
  readonly strictness: Strictness;
  /** In the order of the file. */
  readonly servers: readonly ServerDraft[];
  /** What could not be converted. */
  readonly problems: readonly ConfigProblem[];
}

const OWN_FORMAT =
  'expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}';

/**
 * Converts any supported format to our own (spec §4): `{inputs, servers}`, a list of MCP servers
 * (Python SDK), `{mcpServers}` (Claude Desktop, Cursor, Windsurf), VS Code's `mcp.json`.
 *
 * Pure: environment variables are read when a server starts, not here.
 */
export function draftConfig(
  data: unknown,
  context: ForeignContext,
): ConfigDraft {
  if (Array.isArray(data)) return draftList(data, []);
  if (!isRecord(data)) return failed([], OWN_FORMAT);
  const { servers } = data;
  const strictness = isRecord(servers) && !("mcpServers" in data) &&
      !Object.values(servers).some(isForeign)
    ? "own"
    : "foreign";
  const draft = draftFile(data, strictness, context);
  const unknown = unknownFileFields(data, strictness);
  return { ...draft, problems: [...unknown, ...draft.problems] };
}

function draftFile(
  data: Record<string, unknown>,
  strictness: Strictness,
  context: ForeignContext,
): ConfigDraft {
  const { inputs = [], servers, mcpServers } = data;
  if (mcpServers !== undefined && servers !== undefined) {
    return failed(
      ["mcpServers"],
      'there is "servers" too; put all MCP servers into one of them',
    );
  }
  if (mcpServers !== undefined) {
    return isRecord(mcpServers)
      ? draftMap(mcpServers, "mcpServers", inputs, context)
      : failed(["mcpServers"], 'expected {NAME: {"command": ...}}');
  }
  if (Array.isArray(servers)) return draftList(servers, ["servers"], inputs);
  if (!isRecord(servers)) return failed(["servers"], OWN_FORMAT);
  const own = strictness === "own" ? inputs : draftVsCodeInputs(inputs);
  return { ...draftMap(servers, "servers", own, context), strictness };
}

const failed = (path: ConfigPath, text: string): ConfigDraft => ({
  inputs: [],
  strictness: "foreign",
  servers: [],
  problems: [{ path, text }],
});

const draftList = (
  list: readonly unknown[],
  path: ConfigPath,
  inputs: unknown = [],
): ConfigDraft => ({
  inputs,
  strictness: "foreign",
  servers: list.map((entry, i) => ({
    path: [...path, i],
    ...readSpelling(entry),
    strictness: "foreign" as const,
  })),
  problems: [],
});

/** Reads `bundleId`, another spelling of `bundle_id` in files (0.4 §3.1). */
function readSpelling(
  entry: unknown,
): Required<Pick<ServerDraft, "entry" | "pathOf">> {
  if (!isRecord(entry) || !("bundleId" in entry) || "bundle_id" in entry) {
    return { entry, pathOf: (field) => field };
  }
  const { bundleId: bundle_id, ...rest } = entry;
  return {
    entry: { ...rest, bundle_id },
    pathOf: (path) =>
      path[0] === "bundle_id" ? ["bundleId", ...path.slice(1)] : path,
  };
}

function draftMap(
  servers: Record<string, unknown>,
  field: "servers" | "mcpServers",
  inputs: unknown,
  context: ForeignContext,
): ConfigDraft {
  const problems: ConfigProblem[] = [];
  const variables = new Map<string, unknown>();
  const drafts = Object.entries(servers).map(([key, value]): ServerDraft => {
    const path = [field, key];
    const { entry, pathOf } = readSpelling(value);
    if (!isForeign(entry) && (field === "servers" || hasOwnForm(entry))) {
      return {
        path,
        key,
        entry: isRecord(entry) ? { name: key, ...entry } : entry,
        strictness: "own",
        pathOf,
      };
    }
    const foreign = draftForeign(entry, field, context);
    problems.push(...below(path, foreign.problems));
    for (const input of foreign.inputs) {
      if (!variables.has(input.id)) variables.set(input.id, input);
    }
    return {
      path,
      key,
      entry: { name: key, ...foreign.entry },
      strictness: "foreign",
      pathOf: (field) => pathOf(foreign.pathOf(field)),
      raw: foreign.raw,
    };
  });
  return {
    inputs: Array.isArray(inputs) ? withAll(inputs, variables) : inputs,
    strictness: "foreign",
    servers: drafts,
    problems,
  };
}

const hasOwnForm = (entry: unknown): boolean =>
  isRecord(entry) && "server_parameters" in entry;

function withAll(
  inputs: readonly unknown[],
  variables: ReadonlyMap<string, unknown>,
): unknown[] {
  const ids = inputs.map((input) => isRecord(input) ? input.id : undefined);
  const missing = [...variables].filter(([id]) => !ids.includes(id));
  return [...inputs, ...missing.map(([, input]) => input)];
}
