import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** How many lines are kept. */
const MOST = 1_000;

/** Where the lines of the shell are kept, by the XDG convention. */
export const defaultHistoryFile = (
  env: Readonly<Record<string, string | undefined>>,
): string =>
  join(
    env.XDG_STATE_HOME || join(homedir(), ".local", "state"),
    "a2c-smcp",
    "shell_history",
  );

/** Reads the lines of earlier shells, the last one last; none where there is no file. */
export async function readHistory(file: string): Promise<string[]> {
  await narrow(file).catch(() => {}); // there may be none; writing says no more about it
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "").slice(-MOST);
}

/** Writes them, for their person alone; a disk that does not take them is no reason to fail. */
export async function writeHistory(
  file: string,
  lines: readonly string[],
): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await narrow(file);
    await writeFile(file, `${lines.slice(-MOST).join("\n")}\n`, {
      mode: 0o600,
    });
  } catch {
    // The next shell begins without them.
  }
}

/** Closes a file that others may read or write; what is no file, such as a device, is left alone. */
async function narrow(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() && found.mode & 0o077) await chmod(file, 0o600);
}
