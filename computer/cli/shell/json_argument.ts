import { readFile } from "node:fs/promises";
import { reasonOf } from "../../util/values.ts";

/**
 * Parses the `<json|@file>` argument of a command.
 *
 * @throws {Error} that describes the problem without quoting the text, as it may contain secrets
 */
export async function jsonArgument(text: string): Promise<unknown> {
  if (text === "") throw new Error("expected JSON, or @FILE that holds it");
  const json = text.startsWith("@") ? await fileText(text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch {
    throw new Error(
      text.startsWith("@")
        ? `what is in ${text.slice(1)} is not JSON`
        : 'that is not JSON; write it in one line, such as {"name": "value"}, or @FILE',
    );
  }
}

async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error &&
      error.code === "ENOENT";
    throw new Error(
      `cannot read ${file}: ${
        missing ? "there is no such file" : reasonOf(error)
      }`,
    );
  }
}
