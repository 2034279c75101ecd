/**
 * Reads a configuration in all formats that there are, and lists all of its problems.
 *
 * `draft.ts` converts a file to our own format (`foreign.ts` those of other programs), then each
 * input and each MCP server is validated here, and their identities are compared. What is invalid is
 * left out; whether that refuses all of it is up to the caller.
 *
 * @module
 */
import type { MCPServerConfig } from "../../protocol/payloads/config.ts";
import {
  inputsSchema,
  mcpServerConfigSchema,
} from "../../protocol/payloads/config_file.ts";
import { ENGLISH } from "../../protocol/schema.ts";
import { nameOnly } from "../../protocol/validation.ts";
import {
  bundleIdOf,
  type ComputerConfig,
  FOR_PROGRAMS,
  isInProcess,
  readInProcess,
  type ServerConfig,
  type ServerSettings,
} from "./config.ts";
import { draftConfig, type ServerDraft } from "./draft.ts";
import type { ForeignContext } from "./variable_inputs.ts";
import {
  below,
  ConfigError,
  type ConfigPath,
  type ConfigProblem,
  explainIssues,
  sourcePath,
  unknownInputFields,
  unknownServerFields,
} from "./problem.ts";
import { readRules } from "./rule_entries.ts";
import { inputProblems } from "../util/input_problems.ts";
import { placeholderIds } from "../util/inputs.ts";
import { reasonOf } from "../util/values.ts";
import { checkVrl } from "../util/vrl.ts";

/** A configuration with its problems. */
export interface ReadConfig<S extends ServerConfig = ServerConfig> {
  /** The valid parts. */
  readonly config: ComputerConfig<S>;
  /** Every problem but `clashes`. */
  readonly problems: readonly ConfigProblem[];
  /** Servers that derive the `bundle_id` of one before them: they refuse a file (protocol §13). */
  readonly clashes: readonly ConfigProblem[];
  /** The place of each MCP server by name. */
  readonly places: ReadonlyMap<string, ConfigPath>;
  /** Returns line and column of a problem in a text, if known. */
  readonly locate?: (problem: ConfigProblem) => string | undefined;
}

const NO_CONTEXT: ForeignContext = {
  workspaceFolder: ".",
  userHome: "~",
  pathSeparator: "/",
};

/**
 * Parses a configuration in any of the formats of {@linkcode draftConfig} (protocol §4).
 *
 * @param source names the origin in messages
 * @throws {ConfigError} that lists every problem
 */
export function parseComputerConfig(
  data: unknown,
  source = "configuration",
): ComputerConfig<MCPServerConfig> {
  return requireValid(readConfig(data), source);
}

/**
 * Returns a configuration.
 *
 * @param source names the origin in messages
 * @throws {ConfigError} that lists every problem, and `more`
 */
export function requireValid<S extends ServerConfig>(
  { config, problems, clashes, locate }: ReadConfig<S>,
  source: string,
  more: readonly ConfigProblem[] = [],
): ComputerConfig<S> {
  const all = [...problems, ...clashes, ...more];
  if (all.length > 0) throw new ConfigError(source, all, locate);
  return config;
}

/**
 * Parses the options of a program, which may have MCP servers in process.
 *
 * @throws {ConfigError} that lists every problem
 */
export function parseOptions(data: unknown): ComputerConfig {
  return requireValid({ ...readProgramConfig(data), clashes: [] }, "options");
}

/**
 * Parses the configuration of a file; invalid parts are reported and left out.
 *
 * @param context the values of variables such as `${userHome}`
 */
export const readConfig = (
  data: unknown,
  context: ForeignContext = NO_CONTEXT,
): ReadConfig<MCPServerConfig> => readWith(readFileEntry, data, context);

/** Parses the configuration of a program, which may have MCP servers in process. */
const readProgramConfig = (data: unknown): ReadConfig =>
  readWith(readEntry, data, NO_CONTEXT);

/** Parses one MCP server in our own format; without a configuration there is a problem. */
type ReadEntry<S> = (
  entry: unknown,
) => { config?: S; problems: ConfigProblem[] };

/** Parses the MCP server of a program. */
export const readEntry: ReadEntry<ServerConfig> = (entry) =>
  isInProcess(entry) ? readInProcess(entry) : readFileEntry(entry);

const readFileEntry: ReadEntry<MCPServerConfig> = (entry) => {
  if (isInProcess(entry)) return { problems: [FOR_PROGRAMS] };
  const read = mcpServerConfigSchema.safeParse(entry, ENGLISH);
  return read.success
    ? { config: read.data, problems: [] }
    : { problems: explainIssues(read.error.issues, entry) };
};

function readWith<S extends ServerConfig>(
  readEntry: ReadEntry<S>,
  data: unknown,
  context: ForeignContext,
): ReadConfig<S> {
  const draft = draftConfig(data, context);
  const inputs = inputsSchema.safeParse(draft.inputs, ENGLISH);
  const problems = [
    ...draft.problems,
    ...below(["inputs"], [
      ...explainIssues(inputs.error?.issues ?? [], draft.inputs, true),
      ...inputProblems(inputs.data ?? []),
      ...unknownInputFields(draft.inputs, draft.strictness),
    ]),
  ];
  const clashes: ConfigProblem[] = [];
  const places = new Map<string, ConfigPath>();
  const taken = new Set<string>();
  const derived = new Map<string, string>();
  const servers = draft.servers.flatMap((server) => {
    const config = readServer(readEntry, server, problems);
    if (!config) return [];
    const { name } = config;
    const id = bundleIdOf(config);
    const identity = JSON.stringify([name, id]);
    if (taken.has(identity)) {
      const text =
        `two MCP servers are named "${name}"; rename one, or give it a "bundle_id" of its own`;
      problems.push({ path: server.path, text });
    }
    taken.add(identity);
    if (typeof Object(server.entry).bundle_id !== "string") {
      const first = derived.get(id);
      if (first === undefined) derived.set(id, name);
      else if (first !== name) {
        const text =
          `"${first}" and "${name}" have one bundle_id, "${id}", which is derived from their names; give one of them a "bundle_id" of its own`;
        clashes.push({ path: server.path, text });
      }
    }
    places.set(name, server.path);
    return [config];
  });
  const { rules, problems: wrong } = readRules(draft.rules);
  problems.push(...wrong);
  const config = { inputs: inputs.data ?? [], servers, rules };
  return { config, problems, clashes, places };
}

function readServer<S extends ServerConfig>(
  readEntry: ReadEntry<S>,
  { path, key, entry, strictness, sources, raw }: ServerDraft,
  problems: ConfigProblem[],
): S | undefined {
  const placed = (problem: ConfigProblem): ConfigProblem => ({
    ...problem,
    path: [...path, ...sourcePath(sources, problem.path)],
  });
  problems.push(...unknownServerFields(entry, strictness).map(placed));
  const read = readEntry(entry);
  problems.push(...read.problems.map(placed));
  if (!read.config) return undefined;
  const { name } = read.config;
  if (key !== undefined && name !== key) {
    const text =
      `"${name}" differs from the key "${key}"; make them equal, or leave the name out`;
    problems.push({ path: [...path, "name"], text });
  }
  const { config } = read;
  const isNamed = (config.bundle_id ?? nameOnly(name)) !== undefined;
  // An id does not depend on the variables that are replaced in it.
  const written = isNamed || !raw
    ? config
    : readEntry({ ...Object(entry), server_parameters: raw }).config ?? config;
  const id = bundleIdOf(written);
  // Its name too, for people and for peers of 0.2.
  if (name === "") return { ...config, name: id, bundle_id: id };
  return isNamed || !raw ? config : { ...config, bundle_id: id };
}

/**
 * Validates the configuration of an MCP server given in code (protocol §4, §7).
 *
 * @throws {ConfigError} that lists every problem
 */
export async function readServerConfig(
  name: string,
  settings: ServerSettings,
): Promise<ServerConfig> {
  const { config, problems, places } = readProgramConfig({
    servers: { [name]: settings },
  });
  const all = [...problems, ...await vrlProblems(config.servers, places)];
  const [server] = config.servers;
  if (server && all.length === 0) return server;
  throw new ConfigError("configuration", all);
}

/**
 * Compiles the VRL programs of MCP servers (protocol §7).
 *
 * @param places of the servers in their file
 * @returns one problem with the compiler's message for each program that does not compile
 */
export async function vrlProblems(
  servers: readonly ServerConfig[],
  places: ReadonlyMap<string, ConfigPath>,
): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const { name, vrl } of servers) {
    // With a placeholder it is compiled when the server starts, after substitution.
    if (placeholderIds(vrl).length > 0) continue;
    try {
      await checkVrl(vrl);
    } catch (error) {
      problems.push({
        path: [...places.get(name) ?? [], "vrl"],
        text: reasonOf(error),
      });
    }
  }
  return problems;
}
