/**
 * Converts the files of Claude Code and Codex to the form of Claude Desktop, `{mcpServers}`, which
 * `foreign.ts` reads.
 *
 * @module
 */
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ConfigProblem } from "./problem.ts";
import { isRecord } from "../../protocol/names.ts";
import { present } from "../../shared/checks.ts";

/** Checks whether a file is `~/.claude.json`: MCP servers of the user, and of each project. */
export const isClaudeCode = (data: Record<string, unknown>): boolean =>
  isRecord(data.projects) && !("servers" in data);

/**
 * Collects the MCP servers of the user and of all projects in `~/.claude.json`.
 *
 * Different ones of one name get the name of their project's folder.
 */
export function claudeCodeServers(
  { mcpServers, projects }: Record<string, unknown>,
): Record<string, unknown> {
  const found = new Map<string, unknown>();
  const owners = [
    ["", mcpServers] as const,
    ...Object.entries(Object(projects)).map(([folder, project]) =>
      [folder, Object(project).mcpServers] as const
    ),
  ];
  for (const [folder, servers] of owners) {
    if (!isRecord(servers)) continue;
    for (const [name, entry] of Object.entries(servers)) {
      let key = name;
      for (let number = 1; isOther(found, key, entry); number++) {
        const suffix = number === 1 ? "" : `-${number}`;
        key = `${name}-${basename(folder)}${suffix}`;
      }
      found.set(key, entry);
    }
  }
  return Object.fromEntries(found);
}

const isOther = (
  found: ReadonlyMap<string, unknown>,
  key: string,
  entry: unknown,
): boolean => found.has(key) && !isDeepStrictEqual(found.get(key), entry);

/** Converts the tables `mcp_servers` of Codex. */
export function codexServers(tables: Record<string, unknown>): {
  readonly servers: Record<string, unknown>;
  /** With paths relative to `mcp_servers`. */
  readonly problems: readonly ConfigProblem[];
} {
  const problems: ConfigProblem[] = [];
  const servers = Object.entries(tables).map(([name, table]) => {
    if (!isRecord(table)) return [name, table];
    if ("enabled_tools" in table) {
      const path = [name, "enabled_tools"];
      const text =
        "enabled_tools is not supported; name the other tools in disabled_tools";
      problems.push({ path, text });
    }
    return [name, codexServer(table)];
  });
  return { servers: Object.fromEntries(servers), problems };
}

function codexServer(table: Record<string, unknown>): Record<string, unknown> {
  const { command, args, cwd, url, enabled, disabled_tools } = table;
  const { env, env_vars, bearer_token_env_var: bearer } = table;
  const { http_headers, env_http_headers } = table;
  const passed = Array.isArray(env_vars)
    ? env_vars.map((variable) => `${Object(variable).name ?? variable}`)
    : [];
  return present({
    command,
    args,
    cwd,
    url,
    env: merged(env, passed.map((name) => [name, name])),
    headers: merged(
      http_headers,
      Object.entries(Object(env_http_headers)),
      typeof bearer === "string"
        ? { Authorization: `Bearer ${fromEnvironment(bearer)}` }
        : {},
    ),
    disabled: enabled === false ? true : undefined,
    disabledTools: disabled_tools,
  });
}

/** Adds values of the environment to a table; undefined where there are none. */
function merged(
  table: unknown,
  variables: readonly (readonly [name: string, variable: unknown])[],
  more: Readonly<Record<string, string>> = {},
): unknown {
  if (table !== undefined && !isRecord(table)) return table; // the schema refuses it
  const read = variables.map(([name, variable]) =>
    [name, fromEnvironment(`${variable}`)] as const
  );
  const all = { ...table, ...Object.fromEntries(read), ...more };
  return Object.keys(all).length === 0 ? undefined : all;
}

const fromEnvironment = (variable: string): string => `\${env:${variable}}`;
