import type { ComputerConfig } from "./config.ts";
import { basename, dirname, resolve, sep } from "node:path";
import { homedir } from "node:os";
import { readFile, realpath } from "node:fs/promises";
import { type FSWatcher, watch } from "node:fs";
import {
  type ReadConfig,
  readConfig,
  requireValid,
  vrlProblems,
} from "./parse_config.ts";
import { ConfigError } from "./problem.ts";
import { reasonOf } from "../util/values.ts";
import { whyUnreadable } from "../../cli/explain_failure.ts";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { coalesce } from "../../shared/async.ts";

/**
 * Loads a configuration file: JSON, comments and trailing commas allowed, in our own format or
 * that of Claude Desktop, Claude Code, Codex (TOML), Cursor, Windsurf, VS Code or the Python SDK
 * (protocol §4).
 *
 * VRL programs are not compiled here: one that does not compile only keeps its own server from
 * starting (protocol §7).
 *
 * @throws {ConfigError} that names file, line, path, problem and fix
 */
export async function loadComputerConfig(
  file: string,
): Promise<ComputerConfig<MCPServerConfig>> {
  const read = await readConfigText(await readConfigFile(file), file);
  return requireValid(read, file);
}

/**
 * Parses the text of a configuration that is to replace another, and compiles its VRL programs: one
 * that does not compile must not replace one that does (protocol §7).
 *
 * @throws {ConfigError} as {@linkcode loadComputerConfig}
 */
export async function parseComputerConfigText(
  text: string,
  file: string,
): Promise<ComputerConfig<MCPServerConfig>> {
  const read = await readConfigText(text, file);
  const vrl = await vrlProblems(read.config.servers, read.places);
  return requireValid(read, file, vrl);
}

/**
 * Parses the text of a configuration; invalid parts are reported and left out.
 *
 * @param workspaceOf returns the value of `${workspaceFolder}` in a file; undefined: it becomes an input
 * @throws {ConfigError} when the text is not JSON, or TOML
 */
export async function readConfigText(
  text: string,
  file: string,
  workspaceOf: (file: string) => string | undefined = fileFolder,
): Promise<ReadConfig<MCPServerConfig>> {
  // What parses a file is loaded only where there is one of its kind.
  const { value, problems, locate } = file.endsWith(".toml")
    ? (await import("./toml_text.ts")).readTomlText(text, file)
    : (await import("./json_text.ts")).readJsonText(text, file);
  const read = readConfig(value, {
    workspaceFolder: workspaceOf(resolve(file)),
    userHome: homedir(),
    pathSeparator: sep,
  });
  return { ...read, problems: [...problems, ...read.problems], locate };
}

/** Returns the folder of a file, or the project that VS Code or Cursor keep it for. */
const fileFolder = (file: string): string => projectOf(file) ?? dirname(file);

/** Returns the project that a file of VS Code or Cursor is in; undefined for the user's own file. */
export function projectOf(file: string): string | undefined {
  const folder = dirname(file);
  const project = dirname(folder);
  const isIn = [".vscode", ".cursor"].includes(basename(folder));
  return isIn && project !== homedir() ? project : undefined;
}

/**
 * Reads a configuration file.
 *
 * @throws {ConfigError} that names the file
 */
export async function readConfigFile(file: string): Promise<string> {
  const cannotRead = (reason: string) =>
    new ConfigError(file, [{
      path: [],
      text: `Cannot read the configuration: ${reason}`,
    }]);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw cannotRead(whyUnreadable(error) ?? reasonOf(error));
  }
  // PowerShell writes this by ">".
  if (UTF_16.includes([...bytes.subarray(0, 2)].join())) {
    throw cannotRead("it is in UTF-16; save it as UTF-8");
  }
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The first bytes of a text in UTF-16. */
const UTF_16 = ["255,254", "254,255"];

/** Receives the new configuration, or the reason why it is invalid. */
interface ConfigListener {
  /** Called with the new configuration. */
  readonly changed: (config: ComputerConfig<MCPServerConfig>) => unknown;
  /** Called when the file is invalid, with one problem per line. */
  readonly refused: (reason: string) => void;
}

/** The file is read after this time without an event: editors write in several steps. */
const QUIET_PERIOD_MS = 100;
/** The file is read at the latest after this time: other files of the directory may keep changing. */
const MAX_DELAY_MS = 1_000;

/**
 * Watches a configuration file until it is closed.
 *
 * Watches the directories of the file and of the target of a symbolic link, since editors and
 * deployments replace files. Reports the first text, and then each text that differs from the last.
 *
 * @throws {Error} when the directory cannot be watched
 */
export async function watchConfig(
  file: string,
  listener: ConfigListener,
): Promise<Disposable> {
  const target = await realpath(file).catch(() => file);
  const folders = new Set([file, target].map((path) => dirname(resolve(path))));
  const watching = new ConfigWatch(file, listener);
  watching.start([...folders]);
  return watching;
}

class ConfigWatch implements Disposable {
  readonly #file: string;
  readonly #listener: ConfigListener;
  readonly #watchers: FSWatcher[] = [];
  readonly #reload: () => void = coalesce(() => this.#read());
  /** The last text, or why there was none. */
  #last: string | undefined;
  #isClosed = false;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #latest: ReturnType<typeof setTimeout> | undefined;

  constructor(file: string, listener: ConfigListener) {
    this.#file = file;
    this.#listener = listener;
  }

  /** @throws {Error} when a folder cannot be watched */
  start(folders: readonly string[]): void {
    try {
      for (const folder of folders) this.#watch(folder);
    } catch (error) {
      this[Symbol.dispose]();
      const reason = reasonOf(error);
      throw new Error(`Cannot watch ${this.#file}: ${reason}`, {
        cause: error,
      });
    }
    this.#reload();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#disarm();
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(folder: string): void {
    const watcher = watch(folder, () => this.#schedule());
    this.#watchers.push(watcher);
    watcher.on("error", (error) => {
      const reason = `Cannot watch the directory: ${reasonOf(error)}`;
      this.#listener.refused(reason);
    });
  }

  /** Reads the file after a while, which starts again with each event, up to a limit. */
  #schedule(): void {
    if (this.#isClosed) return;
    const read = () => {
      this.#disarm();
      this.#reload();
    };
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(read, QUIET_PERIOD_MS);
    this.#latest ??= setTimeout(read, MAX_DELAY_MS);
  }

  #disarm(): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#latest);
    this.#latest = undefined;
  }

  async #read(): Promise<void> {
    const { changed, refused } = this.#listener;
    try {
      const text = await readConfigFile(this.#file).catch((error) => {
        if (this.#isNew(reasonOf(error))) throw error;
      });
      if (text === undefined || !this.#isNew(text)) return;
      const config = await parseComputerConfigText(text, this.#file);
      if (!this.#isClosed) changed(config);
    } catch (error) {
      if (!this.#isClosed) refused(reasonOf(error));
    }
  }

  #isNew(state: string): boolean {
    if (this.#isClosed || state === this.#last) return false;
    this.#last = state;
    return true;
  }
}
