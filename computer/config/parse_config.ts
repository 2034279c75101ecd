import {
  inputsSchema,
  type MCPServerInput,
} from "../../protocol/payloads/inputs.ts";
import {
  type MCPServerConfig,
  mcpServerConfigSchema,
} from "../../protocol/payloads/config.ts";
import { draftConfig, type ServerDraft } from "./draft.ts";
import type { ForeignContext } from "./foreign_variables.ts";
import { ConfigError, type ConfigPath, type ConfigProblem } from "./problem.ts";
import { explainIssues } from "./issue_text.ts";
import { unknownInputFields, unknownServerFields } from "./unknown_fields.ts";

/** The configuration of a Computer. */
export interface ComputerConfig {
  /** The definitions of the placeholders. */
  readonly inputs: readonly MCPServerInput[];
  /** In the order of the file; names are unique. */
  readonly servers: readonly MCPServerConfig[];
}

/** A configuration with its problems. */
export interface ReadConfig {
  /** The valid parts. */
  readonly config: ComputerConfig;
  /** Every problem. */
  readonly problems: readonly ConfigProblem[];
  /** The place of each MCP server by name. */
  readonly places: ReadonlyMap<string, ConfigPath>;
}

const NO_CONTEXT: ForeignContext = {
  workspaceFolder: ".",
  userHome: "~",
  pathSeparator: "/",
};

/**
 * Parses a configuration in any of the formats of {@linkcode draftConfig} (spec §4).
 *
 * @param source names the origin in messages
 * @param locate finds the place of a problem in the source
 * @throws {ConfigError} that lists every problem
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

/**
 * Parses a configuration; invalid parts are reported and left out.
 *
 * @param context the values of variables such as `${userHome}`
 */
export function readConfig(
  data: unknown,
  context: ForeignContext = NO_CONTEXT,
): ReadConfig {
  const draft = draftConfig(data, context);
  const problems = [...draft.problems];
  const inputs = inputsSchema.safeParse(draft.inputs);
  if (!inputs.success) {
    problems.push(...explainIssues(["inputs"], inputs.error.issues));
  }
  problems.push(
    ...unknownInputFields(draft.inputs, draft.strictness).map((problem) => ({
      ...problem,
      path: ["inputs", ...problem.path],
    })),
  );
  const places = new Map<string, ConfigPath>();
  const servers = draft.servers.flatMap((server) => {
    const config = readServer(server, problems);
    if (!config) return [];
    const { name } = config;
    if (places.has(name)) {
      problems.push({
        path: server.path,
        text: `two MCP servers are named "${name}"; rename one`,
      });
    }
    places.set(name, server.path);
    return [config];
  });
  return { config: { inputs: inputs.data ?? [], servers }, problems, places };
}

function readServer(
  { path, key, entry, strictness, pathOf = (field) => field }: ServerDraft,
  problems: ConfigProblem[],
): MCPServerConfig | undefined {
  const placed = (problem: ConfigProblem): ConfigProblem => ({
    ...problem,
    path: [...path, ...pathOf(problem.path)],
  });
  problems.push(...unknownServerFields(entry, strictness).map(placed));
  const read = mcpServerConfigSchema.safeParse(entry);
  if (!read.success) {
    problems.push(
      ...explainIssues([], read.error.issues).map(placed),
    );
    return undefined;
  }
  const { name } = read.data;
  if (key !== undefined && name !== key) {
    problems.push({
      path: [...path, "name"],
      text:
        `"${name}" differs from the key "${key}"; make them equal, or leave the name out`,
    });
  }
  return read.data;
}
