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
export interface ImportFlags {
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
  const { out, force, dryRun } = flags;
  if (!force && !dryRun && existsSync(out)) throw taken(out);
  const looked = placesOf(flags);
  const sources: Source[] = [];
  for (const place of looked) {
    if (flags.from !== undefined || existsSync(place.file)) {
      sources.push(await readSource(place));
    }
  }
  const { config, names } = mergeConfigs(sources);
  const { servers: prefixes, prefixed } = prefixSamePrograms(config.servers);
  const { servers, identified } = distinctIds(prefixes);
  const merged = { config: { ...config, servers }, names };
  report(sources, merged, flags);
  if (prefixed.length > 0 && !flags.json) {
    console.log(
      `The same MCP server more than once: ${
        prefixed.join(", ")
      }; each gets "tool_prefix": "auto", or their tools would clash.`,
    );
  }
  if (identified.length > 0 && !flags.json) {
    console.log(
      `Names that differ only in signs: ${
        identified.join(", ")
      }; each gets a "bundle_id", or it would not start.`,
    );
  }
  if (merged.config.servers.length === 0) throw nothing(sources, looked);
  if (dryRun) return;
  const json = JSON.stringify(toOwnFormat(merged.config), null, 2);
  await write(out, `${json}\n`, force === true);
  if (!flags.json) {
    console.log(
      `Wrote ${out}, which only you can read. Next: ${
        ownCommand("smcp-computer", process.execPath)
      } check --config ${shellWord(out)}`,
    );
  }
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

/** Prints what was imported; secret values are never printed, only written to the file. */
function report(
  sources: readonly Source[],
  { config, names }: MergedConfig,
  { json, dryRun, out }: ImportFlags,
): void {
  if (json) {
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
    const { servers, inputs } = config;
    const shown = redactConfig(servers, inputs);
    const file = dryRun ? null : resolve(out);
    return console.log(JSON.stringify({ file, found, ...shown }, null, 2));
  }
  sources.forEach(({ place, config, problems }, i) => {
    console.log(`${place.program}: ${place.file}`);
    const rows = config.servers.map((server) => [
      `  ${names[i]?.get(server.name) ?? server.name}`,
      server.disabled ? "disabled" : server.type,
      summary(server),
    ]);
    columns(rows).forEach((line) => console.log(line));
    for (const server of config.servers) {
      const values = hiddenValues(server);
      if (values.length > 0) {
        console.log(
          `  ! imports values of ${
            names[i]?.get(server.name) ?? server.name
          } that may be secret: ${values.join(", ")}`,
        );
      }
    }
    problems.forEach((line) => console.log(`  ✗ ${line}`));
  });
  const ids = config.inputs.map(({ id }) => id);
  if (ids.length > 0) {
    console.log(
      `Not copied; read from the environment, or asked for: ${ids.join(", ")}`,
    );
  }
  if (dryRun) {
    console.log(
      `Would write ${out}: ${config.servers.length} MCP servers, ${ids.length} inputs.`,
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
  return new Error(
    sources.length === 0
      ? `no configuration was found; name a file with --from FILE (looked for ${
        looked.map(({ file }) => file).join(", ")
      })`
      : sources.some(({ problems }) => problems.length > 0)
      ? "no MCP server could be imported; correct the problems listed above"
      : "the files that were found contain no MCP servers; name another file with --from",
  );
}
