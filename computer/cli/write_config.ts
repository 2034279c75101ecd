/**
 * How `init` and `import` write a configuration file, which only its owner can read.
 *
 * @module
 */
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import { fileErrorCode, unwritable } from "../../cli/explain_failure.ts";
import { replaceFile } from "../../shared/bytes.ts";

/** Where a configuration is written. */
export interface Target {
  /** The file. */
  readonly out: string;
  /** Whether an existing file is replaced; absent where that is impossible. */
  readonly force?: boolean;
}

/** Throws where a file exists and must not be replaced; before anything else is done. */
export function checkFree(target: Target): void {
  if (!target.force && existsSync(target.out)) throw taken(target);
}

/**
 * Writes a configuration in our own format.
 *
 * @throws {Error} that names the file, the reason and the remedy
 */
export async function writeConfig(
  target: Target,
  config: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { out, force } = target;
  const text = `${JSON.stringify(config, null, 2)}\n`;
  try {
    // A new file replaces an old one, since others may have that open or be allowed to read it.
    if (force) {
      const place = await fs.realpath(out).catch(() => out);
      await replaceFile(fs, place, text, 0o600);
    } else await fs.writeFile(out, text, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (fileErrorCode(error) === "EEXIST") throw taken(target);
    throw unwritable(error, out, "--out");
  }
}

const taken = ({ out, force }: Target): Error => {
  const other = `${out} already exists; choose another with --out`;
  return new Error(
    force === undefined ? other : `${other}, or replace it with --force`,
  );
};
