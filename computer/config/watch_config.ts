import { type FSWatcher, watch } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { reasonOf } from "../util/values.ts";
import { coalesce } from "../util/coalesce.ts";
import { parseComputerConfigText, readConfigFile } from "./load_config.ts";
import type { ComputerConfig } from "./parse_config.ts";

/** Who hears of a configuration file that changed. */
export interface ConfigListener {
  /** The file holds this now. */
  readonly changed: (config: ComputerConfig) => unknown;
  /** The file cannot be used as it is; the reason names what is wrong, line by line. */
  readonly refused: (reason: string) => void;
}

/** Milliseconds without a further event after which the file is read: editors write in steps. */
const QUIET = 100;
/** Milliseconds after which it is read all the same: other files may change all the time. */
const LONGEST_WAIT = 1_000;

/**
 * Watches a configuration file until it is closed.
 *
 * Watches its directory, and that of the file behind a symbolic link: editors and deployments
 * replace files by new ones. Only what differs from the last text is reported; the first text
 * always is.
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
    quiet = setTimeout(read, QUIET);
    anyway ??= setTimeout(read, LONGEST_WAIT);
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
        (error) => refused(`Cannot watch it: ${reasonOf(error)}`),
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
