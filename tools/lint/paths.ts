import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the path of the linted file from the repository's root, with `/`. */
export const fileOf = (context: Deno.lint.RuleContext): string =>
  relative(root, resolve(root, context.filename)).replaceAll(sep, "/");
