import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Maximum number of lines in the history file. */
const MAX_LINES = 1_000;

/** Returns the path of the history file, by the XDG convention. */
export const defaultHistoryFile = (
  env: Readonly<Record<string, string | undefined>>,
): string =>
  join(
    env.XDG_STATE_HOME || join(homedir(), ".local", "state"),
    "a2c-smcp",
    "shell_history",
  );

/** Reads the history, the latest line last; empty when there is no file. */
export async function readHistory(file: string): Promise<string[]> {
  await narrow(file).catch(() => {}); // the file may not exist
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "").slice(-MAX_LINES);
}

/** Writes the history, readable by its owner only; ignores failures. */
export async function writeHistory(
  file: string,
  lines: readonly string[],
): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await narrow(file);
    await writeFile(file, `${lines.slice(-MAX_LINES).join("\n")}\n`, {
      mode: 0o600,
    });
  } catch {
    // The next shell starts without a history.
  }
}

/** Restricts a regular file to its owner; leaves devices and the like alone. */
async function narrow(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() && found.mode & 0o077) await chmod(file, 0o600);
}
