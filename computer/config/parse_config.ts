import { inputsSchema, type MCPServerInput } from "../../protocol/inputs.ts";
import {
  type MCPServerConfig,
  mcpServerConfigSchema,
} from "../../protocol/config.ts";
import { isRecord } from "../_values.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";

/** What a Computer hosts. */
export interface ComputerConfig {
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
  /** In the order of the file; names are unique. */
  readonly servers: readonly MCPServerConfig[];
}

/**
 * Reads `{inputs, servers}`, where `servers` is a map by name or a list (spec §4).
 *
 * @param source names the origin in messages
 * @param locate finds the place of a problem in the source
 * @throws {ConfigError} that lists every mistake
 */
export function parseComputerConfig(
  data: unknown,
  source = "configuration",
  locate?: (problem: ConfigProblem) => string | undefined,
): ComputerConfig {
  const { config, problems } = readConfig(data);
  if (problems.length > 0) throw new ConfigError(source, problems, locate);
  return config;
}

function readConfig(
  data: unknown,
): { config: ComputerConfig; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const inputs = isRecord(data) ? data.inputs ?? [] : [];
  const servers = isRecord(data) ? data.servers : undefined;
  const read = inputsSchema.safeParse(inputs);
  if (!read.success) problems.push(...explain(["inputs"], read.error.issues));
  if (!isRecord(servers) && !Array.isArray(servers)) {
    problems.push({
      path: isRecord(data) ? ["servers"] : [],
      text:
        'expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}',
    });
  }
  const configs = Array.isArray(servers)
    ? servers.flatMap((entry, i) => readServer(["servers", i], entry, problems))
    : Object.entries(servers ?? {}).flatMap(([name, entry]) =>
      readServer(["servers", name], withName(entry, name), problems, name)
    );
  problems.push(...duplicates(configs));
  return {
    config: { inputs: read.data ?? [], servers: configs },
    problems,
  };
}

function readServer(
  path: readonly (string | number)[],
  entry: unknown,
  problems: ConfigProblem[],
  key?: string,
): MCPServerConfig[] {
  const read = mcpServerConfigSchema.safeParse(entry);
  if (!read.success) {
    problems.push(...explain(path, read.error.issues));
    return [];
  }
  const { name } = read.data;
  if (key !== undefined && name !== key) {
    problems.push({
      path: [...path, "name"],
      text:
        `"${name}" differs from the key "${key}"; make them equal, or leave the name out`,
    });
  }
  return [read.data];
}

/** The key says the name already. */
const withName = (entry: unknown, name: string): unknown =>
  isRecord(entry) ? { name, ...entry } : entry;

function duplicates(configs: readonly MCPServerConfig[]): ConfigProblem[] {
  const names = configs.map(({ name }) => name);
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
    .map((name) => ({
      path: ["servers"],
      text: `two MCP servers are named "${name}"; rename one`,
    }));
}

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

const explain = (
  path: readonly (string | number)[],
  issues: readonly Issue[],
): ConfigProblem[] =>
  issues.map((issue) => {
    const own = issue.path.map((key) =>
      typeof key === "symbol" ? String(key) : key
    );
    return { path: [...path, ...own], text: textOf(issue) };
  });

function textOf({ code, path, message }: Issue): string {
  if (code !== "invalid_union" || path.at(-1) !== "type") return message;
  return path.length > 1 || path[0] !== "type"
    ? 'expected "promptString", "pickString" or "command"'
    : 'expected "stdio", "streamable" (or "http") or "sse"';
}
