import { randomUUID } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { UsageError } from "../../../cli/run.ts";
import type { ApiKey } from "../../auth/api_keys.ts";
import { apiKeys } from "../../auth/api_keys.ts";
import { inFile } from "../read_text.ts";
import { parseApiKeys } from "../../auth/parse_api_keys.ts";

/** Where the keys are, from the command line. */
export interface KeysFlags {
  /** The file. */
  readonly apiKeys: string;
}

/**
 * Reads the keys of a file.
 *
 * @returns `undefined` when there is no such file
 * @throws {UsageError} when it cannot be read, or is no list of keys
 */
export async function readKeys(
  { apiKeys: file }: KeysFlags,
): Promise<ApiKey[] | undefined> {
  if (file.trimStart().startsWith("[")) {
    throw new UsageError(
      "--api-keys is the keys themselves here, which no command can change: name a file with it",
    );
  }
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    throw new UsageError(
      `cannot read the file of --api-keys: ${READ_ERRORS[code] ?? code}`,
    );
  }
  if (text.trim() === "[]") return [];
  try {
    const keys = parseApiKeys(text);
    apiKeys(keys); // checks what no Server would take
    return keys;
  } catch (error) {
    throw error instanceof TypeError
      ? new UsageError(inFile(file, error).message)
      : error;
  }
}

/**
 * Writes the keys of a file, in one step: who reads it meanwhile finds the old ones or the new ones. Only
 * its owner may read it.
 *
 * @throws {TypeError} for keys that no Server would take
 * @throws {Error} when it cannot be written
 */
export async function writeKeys(
  { apiKeys: file }: KeysFlags,
  keys: readonly ApiKey[],
): Promise<void> {
  apiKeys(keys); // checks them
  const place = await realpath(file).catch(() => file);
  const draft = `${place}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    await rename(draft, place);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    const code = codeOf(error);
    throw new Error(`cannot write ${file}: ${WRITE_ERRORS[code] ?? code}`, {
      cause: error,
    });
  }
}

function codeOf(error: unknown): string {
  const { name, code }: { name?: unknown; code?: unknown } = Object(error);
  // Deno denied access.
  return name === "NotCapable" ? name : String(code);
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read flag",
  EACCES: "this user may not read it",
  EISDIR: "it is a directory",
};

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read and --allow-write flags",
  ENOENT: "there is no such directory; create it",
  EACCES: "no permission; choose another place with --api-keys",
  EROFS: "it is on a file system that is read-only",
};
