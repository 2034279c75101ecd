import { coalesce } from "../../shared/async.ts";
import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { MCPServerConfig } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import { parseComputerConfigText, readConfigFile } from "./load_config.ts";
import type { ComputerConfig } from "./parse_config.ts";

/** Receives the new configuration, or the reason why it is invalid. */
export interface ConfigListener {
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
  { changed, refused }: ConfigListener,
): Promise<Disposable> {
  let last: string | undefined;
  let closed = false;
  let quiet: ReturnType<typeof setTimeout> | undefined;
  let anyway: ReturnType<typeof setTimeout> | undefined;
  const isNew = (state: string) => {
    if (closed || state === last) return false;
    last = state;
    return true;
  };
  const reload = coalesce(async () => {
    try {
      const text = await readConfigFile(file).catch((error) => {
        if (isNew(reasonOf(error))) throw error;
      });
      if (text === undefined || !isNew(text)) return;
      const config = await parseComputerConfigText(text, file);
      if (!closed) changed(config);
    } catch (error) {
      if (!closed) refused(reasonOf(error));
    }
  });
  const disarm = () => {
    clearTimeout(quiet);
    clearTimeout(anyway);
    anyway = undefined;
  };
  const read = () => {
    disarm();
    reload();
  };
  const later = () => {
    if (closed) return;
    clearTimeout(quiet);
    quiet = setTimeout(read, QUIET_PERIOD_MS);
    anyway ??= setTimeout(read, MAX_DELAY_MS);
  };
  const target = await realpath(file).catch(() => file);
  const folders = new Set([file, target].map((path) => dirname(resolve(path))));
  const watchers: FSWatcher[] = [];
  const close = () => {
    closed = true;
    disarm();
    for (const watcher of watchers) watcher.close();
  };
  try {
    for (const folder of folders) {
      const watcher = watch(folder, later);
      watcher.on(
        "error",
        (error) => refused(`Cannot watch the directory: ${reasonOf(error)}`),
      );
      watchers.push(watcher);
    }
  } catch (error) {
    close();
    throw new Error(`Cannot watch ${file}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  reload();
  return { [Symbol.dispose]: close };
}
