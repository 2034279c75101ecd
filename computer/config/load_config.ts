import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, resolve, sep } from "node:path";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import {
  type ComputerConfig,
  type ReadConfig,
  readConfig,
} from "./parse_config.ts";
import { ConfigError, type ConfigProblem } from "./problem.ts";
import { vrlProblems } from "./vrl_problems.ts";

/** A configuration read from text. */
export interface ReadText extends ReadConfig<MCPServerConfig> {
  /** Returns line and column of a problem. */
  readonly locate: (problem: ConfigProblem) => string;
}

/**
 * Loads a configuration file: JSON, comments and trailing commas allowed, in our own format or
 * that of Claude Desktop, Cursor, Windsurf, VS Code or the Python SDK (spec §4).
 *
 * VRL programs are not compiled here: one that does not compile only keeps its own server from
 * starting (spec §7.9).
 *
 * @throws {ConfigError} that names file, line, path, problem and fix
 */
export async function loadComputerConfig(
  file: string,
): Promise<ComputerConfig<MCPServerConfig>> {
  const { config, problems, clashes, locate } = await readConfigText(
    await readConfigFile(file),
    file,
  );
  const all = [...problems, ...clashes];
  if (all.length > 0) throw new ConfigError(file, all, locate);
  return config;
}

/**
 * Parses the text of a configuration that is to replace another, and compiles its VRL programs: one
 * that does not compile must not replace one that does (spec §7.9).
 *
 * @throws {ConfigError} as {@linkcode loadComputerConfig}
 */
export async function parseComputerConfigText(
  text: string,
  file: string,
): Promise<ComputerConfig<MCPServerConfig>> {
  const { config, problems, clashes, places, locate } = await readConfigText(
    text,
    file,
  );
  const vrl = await vrlProblems(config.servers, places);
  const all = [...problems, ...clashes, ...vrl];
  if (all.length > 0) throw new ConfigError(file, all, locate);
  return config;
}

/**
 * Parses the text of a configuration; invalid parts are reported and left out.
 *
 * @throws {ConfigError} when the text is not JSON
 */
export async function readConfigText(
  text: string,
  file: string,
): Promise<ReadText> {
  // A program that passes its options reads no file.
  const { readJsonText } = await import("./json_text.ts");
  const { value, problems, locate } = readJsonText(text, file);
  const read = readConfig(value, {
    workspaceFolder: workspaceOf(resolve(file)),
    userHome: homedir(),
    pathSeparator: sep,
  });
  return { ...read, problems: [...problems, ...read.problems], locate };
}

/** Returns the workspace of a file; VS Code and Cursor keep theirs in a subfolder. */
function workspaceOf(file: string): string {
  const folder = dirname(file);
  return [".vscode", ".cursor"].includes(basename(folder))
    ? dirname(folder)
    : folder;
}

/**
 * Reads a configuration file.
 *
 * @throws {ConfigError} that names the file
 */
export async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code }: { code?: unknown } = Object(error);
    throw new ConfigError(file, [{
      path: [],
      text: `Cannot read the configuration: ${
        READ_ERRORS[String(code)] ?? reasonOf(error)
      }`,
    }]);
  }
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "it is a directory; name a file in it",
  EACCES: "this user may not read it",
};
