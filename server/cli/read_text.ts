import { readFileSync } from "node:fs";
import { plain } from "../../cli/terminal_text.ts";

/**
 * Reads a file of the command line.
 *
 * @throws {TypeError} that names it only where it ends like a file: otherwise it may be the secret
 * itself, given by mistake
 */
export function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const name = FILE_NAME.test(file) ? `${plain(file)}, ` : "";
    throw new TypeError(
      `Cannot read ${name}the file of ${flag}: ${whyUnreadable(error)}`,
    );
  }
}

/** How the name of a file for keys and certificates ends. */
const FILE_NAME = /\.(json|pem|crt|cer|key|pub)$/i;

/** Creates the error for the contents of a file. */
export const inFile = (file: string, { message }: Error): TypeError =>
  new TypeError(`${plain(file)}: ${message}`);

/** Says why a file cannot be read. */
export function whyUnreadable(error: unknown): string {
  const code = codeOf(error);
  return READ_ERRORS[code] ?? code;
}

/** Returns the code of an error of the file system; `NotCapable` where Deno denied access. */
export function codeOf(error: unknown): string {
  const { name, code }: { name?: unknown; code?: unknown } = Object(error);
  return name === "NotCapable" ? name : String(code);
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read flag",
  ENOENT: "there is no such file",
  EACCES: "this user may not read it",
  EISDIR: "it is a directory",
};
