import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import { print, printJson } from "../../cli/print.ts";
import { ownCommand, shellWord } from "../../cli/own_command.ts";
import { columns } from "../../cli/terminal_text.ts";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { PLAIN_VERSION } from "../../protocol/version.ts";
import {
  isPrivateHost,
  type OfficeEntry,
  officeEntry,
} from "../config/office_entries.ts";
import { serverPlaceholders } from "../config/config.ts";
import {
  projectOf,
  readConfigFile,
  readConfigText,
} from "../config/load_config.ts";
import { ConfigError, type ConfigProblem } from "../config/problem.ts";
import {
  askSecrets,
  distinctIds,
  type ForeignConfig,
  hiddenValues,
  type KnownFile,
  knownFiles,
  mergeConfigs,
  prefixSamePrograms,
  toOwnFormat,
} from "../config/import_configs.ts";
import { redactConfig } from "../config/redact.ts";
import { checkFree, writeConfig } from "./write_config.ts";

/** The flags of `import`. */
interface ImportFlags {
  /** A file to import instead of the known ones. */
  from?: string;
  /** The file to write. */
  out: string;
  /** Replace an existing file. */
  force?: boolean;
  /** Write nothing. */
  dryRun?: boolean;
  /** Print JSON. */
  json?: boolean;
}

/** A file that was read. */
interface Source extends KnownFile, ForeignConfig {
  readonly problems: readonly string[];
  /** MCP servers that are left out: they are offices. */
  readonly offices: readonly SkippedOffice[];
}

/** An MCP server that is not imported. */
interface SkippedOffice {
  readonly name: string;
  /** Its URL or command. */
  readonly office: string;
}

/** The result of an import. */
interface Imported extends Pick<ForeignConfig, "config"> {
  /** For each source, its MCP servers as they are imported. */
  readonly found: readonly (Source & { servers: readonly MCPServerConfig[] })[];
  /** The names of MCP servers that got a prefix for their tools. */
  readonly prefixed: readonly string[];
  /** The names of MCP servers that got a `bundle_id`. */
  readonly identified: readonly string[];
}

/** Writes a configuration with the MCP servers of other programs. */
export async function importConfig(flags: ImportFlags): Promise<void> {
  const { out, force = false, dryRun = false, from, json } = flags;
  if (!dryRun) checkFree({ out, force });
  const looked = filesToRead(from);
  const sources: Source[] = [];
  for (const place of looked) {
    if (from === undefined && !existsSync(place.file)) continue;
    sources.push(await readSource(place));
  }
  const imported = mergeSources(sources);
  const { config } = imported;
  if (json) printFound(imported, dryRun ? null : resolve(out));
  const note = (line: string) => json || print(line);
  foundLines(imported).forEach(note);
  if (dryRun) {
    const { servers, inputs } = config;
    note(
      `Would write ${out}: ${servers.length} MCP servers, ${inputs.length} inputs.`,
    );
  }
  changeLines(imported).forEach(note);
  if (config.servers.length === 0) throw nothing(sources, looked);
  if (dryRun) return;
  await writeConfig({ out, force }, toOwnFormat(config));
  const command = ownCommand("smcp-computer", process.execPath);
  note(
    `Wrote ${out}, which only you can read. Next: ${command} check --config ${
      shellWord(out)
    }`,
  );
}

function mergeSources(sources: readonly Source[]): Imported {
  const { config: merged, names } = mergeConfigs(sources);
  const { servers: prefixes, prefixed } = prefixSamePrograms(merged.servers);
  const { servers: distinct, identified } = distinctIds(prefixes);
  const config = askSecrets({ inputs: merged.inputs, servers: distinct });
  const found = sources.map((source, i) => ({
    ...source,
    servers: source.config.servers.flatMap(({ name }) => {
      const imported = names[i]?.get(name) ?? name;
      return config.servers.find((server) => server.name === imported) ?? [];
    }),
  }));
  return { config, found, prefixed, identified };
}

/**
 * Prints what was found as JSON: secret values are only written to the file.
 *
 * @param file null if none is written
 */
function printFound(
  { config: { inputs, servers }, found }: Imported,
  file: string | null,
): void {
  const shown = found.map(({ program, file, servers, problems, offices }) => ({
    program,
    file,
    servers: servers.map((server) => ({
      name: server.name,
      type: server.type,
      hidden_values: hiddenValues(server),
    })),
    problems,
    skipped: offices,
  }));
  printJson({ file, found: shown, ...redactConfig(servers, inputs) });
}

function foundLines({ config: { inputs }, found }: Imported): string[] {
  const lines = found.flatMap((source) => [
    `${source.program}: ${source.file}`,
    ...serverLines(source.servers),
    ...source.offices.map(({ name, office }) =>
      `  - skips ${name}: ${office} is an office of A2C-SMCP, and a Computer must not offer an office to itself`
    ),
    ...source.problems.map((line) => `  ✗ ${line}`),
  ]);
  const ids = inputs.map(({ id }) => id).join(", ");
  return ids === "" ? lines : [
    ...lines,
    `Values not copied, but read from the environment or asked for: ${ids}`,
  ];
}

const changeLines = ({ prefixed, identified }: Imported): string[] => [
  ...prefixed.length === 0 ? [] : [
    `The same MCP server more than once: ${
      prefixed.join(", ")
    }; each gets "tool_prefix": "auto", or their tools would clash.`,
  ],
  ...identified.length === 0 ? [] : [
    `Names that differ only in punctuation: ${
      identified.join(", ")
    }; each gets a "bundle_id", or it would not start.`,
  ],
];

const filesToRead = (from: string | undefined): KnownFile[] =>
  from !== undefined
    ? [{ program: from, suffix: "2", file: resolve(from) }]
    : knownFiles({
      platform: process.platform,
      home: homedir(),
      directory: process.cwd(),
      env: process.env,
    });

/** Reads the valid parts of a file; an unreadable file becomes one problem. */
async function readSource(place: KnownFile): Promise<Source> {
  const { file } = place;
  try {
    const { config, problems, locate } = await readConfigText(
      await readConfigFile(file),
      file,
      projectOf,
    );
    const lines = problems.map((problem: ConfigProblem) =>
      new ConfigError(file, [problem], locate).message
    );
    const offices = await officesIn(config.servers);
    const left = new Set(offices.map(({ name }) => name));
    return {
      ...place,
      config: withoutServers(config, left),
      problems: lines,
      offices,
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = { inputs: [], servers: [] };
    return { ...place, config, problems: [error.message], offices: [] };
  }
}

/** Leaves out MCP servers, and the inputs that nothing else has. */
function withoutServers(
  { inputs, servers }: ForeignConfig["config"],
  left: ReadonlySet<string>,
): ForeignConfig["config"] {
  const kept = servers.filter(({ name }) => !left.has(name));
  const out = servers.filter(({ name }) => left.has(name));
  const needed = new Set(kept.flatMap(serverPlaceholders));
  const dropped = new Set(out.flatMap(serverPlaceholders));
  return {
    inputs: inputs.filter(({ id }) => needed.has(id) || !dropped.has(id)),
    servers: kept,
  };
}

/** Finds the MCP servers that are offices. */
async function officesIn(
  servers: readonly MCPServerConfig[],
): Promise<SkippedOffice[]> {
  const found = await Promise.all(servers.map(async (server) => {
    const entry = officeEntry(server);
    if (entry === undefined || !await isOffice(entry)) return [];
    return [{ name: server.name, office: entry.shown }];
  }));
  return found.flat();
}

/** How long a Server may take to identify itself. */
const PROBE_TIMEOUT_MS = 3_000;

/**
 * Returns whether an entry is an office. Other MCP servers have paths of that form, too, so that the
 * answer of the address decides; of those that do not answer, only a private one counts, since the
 * Server of `smcp up` may not run now. `check` and `run` refuse what is missed here.
 */
async function isOffice({ url }: OfficeEntry): Promise<boolean> {
  if (url === undefined) return true;
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  try {
    const response = await fetch(new URL("/health", url), { signal });
    const health = await response.json().catch(() => undefined);
    // Others may have a version, too.
    const { status, protocol_version: version } = Object(health);
    return response.ok && typeof status === "string" &&
      typeof version === "string" && PLAIN_VERSION.test(version);
  } catch {
    return isPrivateHost(url.hostname);
  }
}

/** Describes imported MCP servers, and names their values that may be secret. */
function serverLines(servers: readonly MCPServerConfig[]): string[] {
  const rows = servers.map((server) => [
    `  ${server.name}`,
    server.disabled ? "disabled" : server.type,
    summary(server),
  ]);
  const secrets = servers.flatMap((server) => {
    const values = hiddenValues(server).join(", ");
    return values === ""
      ? []
      : [`  ! imports values of ${server.name} that may be secret: ${values}`];
  });
  return [...columns(rows), ...secrets];
}

function summary(server: MCPServerConfig): string {
  const shown = redactConfig([server], []).servers[server.name] ?? server;
  const { server_parameters } = shown;
  return "url" in server_parameters
    ? server_parameters.url
    : [server_parameters.command, ...server_parameters.args].join(" ");
}

function nothing(
  sources: readonly Source[],
  looked: readonly KnownFile[],
): Error {
  const files = looked.map(({ file }) => file).join(", ");
  return new Error(
    sources.length === 0
      ? `no configuration was found; name a file with --from FILE (looked for ${files})`
      : sources.some(({ problems }) => problems.length > 0)
      ? "no MCP server could be imported; correct the problems listed above"
      : sources.some(({ offices }) => offices.length > 0)
      ? "the files that were found contain no MCP servers but offices of A2C-SMCP; name another file with --from"
      : "the files that were found contain no MCP servers; name another file with --from",
  );
}
