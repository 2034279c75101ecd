import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import { ownCommand, shellWord } from "../../cli/own_command.ts";
import { columns } from "../../cli/terminal_text.ts";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { readConfigFile, readConfigText } from "../config/load_config.ts";
import { ConfigError, type ConfigProblem } from "../config/problem.ts";
import {
  distinctIds,
  type ForeignConfig,
  hiddenValues,
  type KnownFile,
  knownFiles,
  mergeConfigs,
  type MergedConfig,
  prefixSamePrograms,
  toOwnFormat,
} from "../config/import_configs.ts";
import { redactConfig } from "../config/redact.ts";

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
interface Source extends ForeignConfig {
  readonly place: KnownFile;
  readonly problems: readonly string[];
}

/** Writes a configuration with the MCP servers of other programs. */
export async function importConfig(flags: ImportFlags): Promise<void> {
  const { out, force, dryRun, from } = flags;
  if (!force && !dryRun && existsSync(out)) throw taken(out);
  const looked = placesOf(flags);
  const present = from === undefined
    ? looked.filter(({ file }) => existsSync(file))
    : looked;
  const sources: Source[] = [];
  for (const place of present) sources.push(await readSource(place));
  const { config, names } = mergeConfigs(sources);
  const { servers: prefixes, prefixed } = prefixSamePrograms(config.servers);
  const { servers, identified } = distinctIds(prefixes);
  const merged = { ...config, servers };
  const say = (line: string) => flags.json || console.log(line);
  if (flags.json) reportJson(sources, { config: merged, names }, flags);
  else report(sources, { config: merged, names }, flags);
  if (prefixed.length > 0) {
    const them = prefixed.join(", ");
    say(
      `The same MCP server more than once: ${them}; each gets "tool_prefix": "auto", or their tools would clash.`,
    );
  }
  if (identified.length > 0) {
    const them = identified.join(", ");
    say(
      `Names that differ only in signs: ${them}; each gets a "bundle_id", or it would not start.`,
    );
  }
  if (servers.length === 0) throw nothing(sources, looked);
  if (dryRun) return;
  const json = JSON.stringify(toOwnFormat(merged), null, 2);
  await write(out, `${json}\n`, force === true);
  const command = ownCommand("smcp-computer", process.execPath);
  say(
    `Wrote ${out}, which only you can read. Next: ${command} check --config ${
      shellWord(out)
    }`,
  );
}

function placesOf({ from }: ImportFlags): KnownFile[] {
  if (from !== undefined) {
    return [{ program: from, suffix: "2", file: resolve(from) }];
  }
  return knownFiles({
    platform: process.platform,
    home: homedir(),
    directory: process.cwd(),
    env: process.env,
  });
}

/** Reads the valid parts of a file; an unreadable file becomes one problem. */
async function readSource(place: KnownFile): Promise<Source> {
  const { file, suffix } = place;
  try {
    const { config, problems, locate } = await readConfigText(
      await readConfigFile(file),
      file,
    );
    const lines = problems.map((problem: ConfigProblem) =>
      new ConfigError(file, [problem], locate).message
    );
    return { place, suffix, config, problems: lines };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const config = { inputs: [], servers: [] };
    return { place, suffix, config, problems: [error.message] };
  }
}

/** Prints what was imported as JSON; secret values are never printed, only written to the file. */
function reportJson(
  sources: readonly Source[],
  { config: { servers, inputs }, names }: MergedConfig,
  { dryRun, out }: ImportFlags,
): void {
  const found = sources.map(({ place, config, problems }, i) => ({
    program: place.program,
    file: place.file,
    servers: config.servers.map((server) => ({
      name: names[i]?.get(server.name) ?? server.name,
      type: server.type,
      hidden_values: hiddenValues(server),
    })),
    problems,
  }));
  const file = dryRun ? null : resolve(out);
  const shown = redactConfig(servers, inputs);
  console.log(JSON.stringify({ file, found, ...shown }, null, 2));
}

/** Prints the same for a person. */
function report(
  sources: readonly Source[],
  { config, names }: MergedConfig,
  { dryRun, out }: ImportFlags,
): void {
  sources.forEach(({ place, config: { servers }, problems }, i) => {
    const nameOf = ({ name }: MCPServerConfig) => names[i]?.get(name) ?? name;
    const rows = servers.map((server) => [
      `  ${nameOf(server)}`,
      server.disabled ? "disabled" : server.type,
      summary(server),
    ]);
    const secrets = servers.map((server) => ({
      name: nameOf(server),
      values: hiddenValues(server).join(", "),
    })).filter(({ values }) => values !== "");
    const lines = [
      `${place.program}: ${place.file}`,
      ...columns(rows),
      ...secrets.map(({ name, values }) =>
        `  ! imports values of ${name} that may be secret: ${values}`
      ),
      ...problems.map((line) => `  ✗ ${line}`),
    ];
    for (const line of lines) console.log(line);
  });
  const { servers, inputs } = config;
  if (inputs.length > 0) {
    const ids = inputs.map(({ id }) => id).join(", ");
    console.log(`Not copied; read from the environment, or asked for: ${ids}`);
  }
  if (dryRun) {
    console.log(
      `Would write ${out}: ${servers.length} MCP servers, ${inputs.length} inputs.`,
    );
  }
}

function summary(server: MCPServerConfig): string {
  const shown = redactConfig([server], []).servers[server.name] ?? server;
  const { server_parameters } = shown;
  return "url" in server_parameters
    ? server_parameters.url
    : [server_parameters.command, ...server_parameters.args].join(" ");
}

async function write(
  file: string,
  text: string,
  force: boolean,
): Promise<void> {
  try {
    if (force) await replace(await realpath(file).catch(() => file), text);
    else await writeNew(file, text);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (code === "EEXIST") throw taken(file);
    const why = WRITE_ERRORS[String(code)];
    throw why === undefined
      ? error
      : new Error(`cannot write ${file}: ${why}`, { cause: error });
  }
}

/** Replaces a file with a new one, since others may have the old one open or be allowed to read it. */
async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeNew(draft, text);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

const writeNew = (file: string, text: string): Promise<void> =>
  writeFile(file, text, { mode: 0o600, flag: "wx" });

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such directory; create it, or choose another with --out",
  EACCES: "no permission; choose another place with --out",
  EISDIR: "it is a directory; name a file with --out",
  EROFS: "the disk is read-only; choose another place with --out",
};

const taken = (file: string): Error =>
  new Error(
    `${file} already exists; choose another with --out, or replace it with --force`,
  );

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
      : "the files that were found contain no MCP servers; name another file with --from",
  );
}
