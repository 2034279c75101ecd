import { readFileSync } from "node:fs";

/**
 * Reads a file of the command line.
 *
 * @throws {TypeError} that does not name it: it may be the secret itself, given by mistake
 */
export function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new TypeError(`Cannot read the file of ${flag}: ${whyNot(error)}`);
  }
}

function whyNot(error: unknown): string {
  const { name, code }: { name?: unknown; code?: unknown } = Object(error);
  // Deno denied access.
  if (name === "NotCapable") return "run again with the --allow-read flag";
  return READ_ERRORS[String(code)] ?? String(code);
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this user may not read it",
  EISDIR: "it is a directory",
};
