import { isRecord } from "../../protocol/names.ts";
import {
  claudeCodeServers,
  codexServers,
  isClaudeCode,
} from "./agent_programs.ts";
import { draftForeign, draftVsCodeInputs, isForeign } from "./foreign.ts";
import {
  below,
  type ConfigPath,
  type ConfigProblem,
  type SourceMap,
  type Strictness,
  unknownIn,
} from "./problem.ts";
import { type ForeignContext, VariableInputs } from "./variable_inputs.ts";

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
  /** The places of the fields of `entry` in the file, below `path`. */
  readonly sources: SourceMap;
  /** Its `server_parameters` with the variables of the other format; default: as in `entry`. */
  readonly raw?: Record<string, unknown>;
}

/** A file converted to our own format, not validated. */
interface ConfigDraft {
  /** The definitions of inputs. */
  readonly inputs: unknown;
  /** The rules about tool calls. */
  readonly rules?: unknown;
  /** How unknown fields are treated. */
  readonly strictness: Strictness;
  /** In the order of the file. */
  readonly servers: readonly ServerDraft[];
  /** Problems of the conversion. */
  readonly problems: readonly ConfigProblem[];
}

const OWN_FORMAT =
  'expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}';

/**
 * Converts any supported format to our own (protocol §4): `{inputs, servers}`, a list of MCP servers
 * (Python SDK), `{mcpServers}` (Claude Desktop, Cursor, Windsurf), VS Code's `mcp.json`, the
 * `.claude.json` of Claude Code, and `{mcp_servers}` of Codex.
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
  const isOwn = isRecord(servers) && !("mcpServers" in data) &&
    !Object.values(servers).some(isForeign);
  const strictness = isOwn ? "own" : "foreign";
  const draft = draftFile(data, isOwn, context);
  const known = ["$schema", "inputs", "servers", "rules"];
  if (!isOwn) known.push("mcpServers", "mcp_servers");
  const unknown = unknownIn(data, known, strictness);
  return {
    ...draft,
    rules: data.rules,
    strictness,
    problems: [...unknown, ...draft.problems],
  };
}

function draftFile(
  data: Record<string, unknown>,
  isOwn: boolean,
  context: ForeignContext,
): ConfigDraft {
  const { inputs = [], servers, mcpServers, mcp_servers } = data;
  if (isRecord(mcp_servers)) {
    const { servers, problems } = codexServers(mcp_servers);
    const draft = draftMap(servers, "mcp_servers", inputs, context);
    const stray = Object.entries(mcp_servers)
      .flatMap(([key, entry]) => below([key], strayRules(entry)));
    const placed = below(["mcp_servers"], [...stray, ...problems]);
    return { ...draft, problems: [...placed, ...draft.problems] };
  }
  if (isClaudeCode(data)) {
    return draftMap(claudeCodeServers(data), "mcpServers", inputs, context);
  }
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
  const own = isOwn ? inputs : draftVsCodeInputs(inputs);
  return draftMap(servers, "servers", own, context);
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
  problems: list.flatMap((entry, i) => below([...path, i], strayRules(entry))),
});

/** Finds rules that are in an MCP server, where they would guard nothing: other programs have any fields there. */
const strayRules = (entry: unknown): ConfigProblem[] =>
  isRecord(entry) && "rules" in entry
    ? [{
      path: ["rules"],
      text:
        'they are not of one MCP server; move them beside all of them, with "server" in each: {"servers": {...}, "rules": [...]}',
    }]
    : [];

/** Reads `bundleId`, another spelling of `bundle_id` in files (protocol §13). */
function readSpelling(entry: unknown): Pick<ServerDraft, "entry" | "sources"> {
  if (!isRecord(entry) || !("bundleId" in entry) || "bundle_id" in entry) {
    return { entry, sources: [] };
  }
  const { bundleId: bundle_id, ...rest } = entry;
  return {
    entry: { ...rest, bundle_id },
    sources: [[["bundle_id"], ["bundleId"]]],
  };
}

function draftMap(
  servers: Record<string, unknown>,
  field: "servers" | "mcpServers" | "mcp_servers",
  inputs: unknown,
  context: ForeignContext,
): ConfigDraft {
  const problems: ConfigProblem[] = [];
  const defined: readonly unknown[] = Array.isArray(inputs) ? inputs : [];
  const variables = new VariableInputs(defined, context);
  const drafts = Object.entries(servers).map(([key, value]): ServerDraft => {
    const path = [field, key];
    const { entry, sources } = readSpelling(value);
    const hasOwnForm = isRecord(entry) && "server_parameters" in entry;
    if (!isForeign(entry) && (field === "servers" || hasOwnForm)) {
      const named = isRecord(entry) ? { name: key, ...entry } : entry;
      return { path, key, entry: named, strictness: "own", sources };
    }
    const foreign = draftForeign(entry, field, variables);
    problems.push(...below(path, [...strayRules(entry), ...foreign.problems]));
    return {
      path,
      key,
      entry: { name: key, ...foreign.entry },
      strictness: "foreign",
      sources: [...sources, ...foreign.sources],
      raw: foreign.raw,
    };
  });
  return {
    inputs: Array.isArray(inputs) ? [...inputs, ...variables.added] : inputs,
    strictness: "foreign",
    servers: drafts,
    problems,
  };
}
