import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsFolder } from "../../tools/npm/node.ts";
import { run } from "../../tools/process.ts";
import { venvWith } from "../interop/support/venv.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The release of actionlint, which `.github/workflows/ci.yml` runs, too. */
export const ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

/** Time limit for a download over a slow network. */
const DOWNLOAD_TIMEOUT_MS = 1_800_000;

/** A program of PyPI that checks files of the platforms to which a release goes. */
export type Checker = "check-jsonschema" | "hadolint" | "kubernetes-validate";

/** Runs a checker in the repository, which it installs once; throws with its complaints. */
export async function check(
  name: Checker,
  args: readonly string[],
): Promise<string> {
  return await run(join(dirname(await findCheckers()), name), args, root);
}

/**
 * Installs the checkers from PyPI into the user's cache folder, unless that is done.
 *
 * @returns the path of their interpreter
 */
export const findCheckers = (): Promise<string> =>
  venvWith(
    join(toolsFolder(), "release-checkers"),
    fileURLToPath(new URL("checkers.txt", import.meta.url)),
  );

/**
 * Builds actionlint once, into the user's cache folder.
 *
 * @returns the path of its program; `undefined` where no Go is, or one that is too old
 */
export async function findActionlint(): Promise<string | undefined> {
  const folder = join(toolsFolder(), ACTIONLINT.split("/").at(-1) ?? "");
  const program = join(folder, "actionlint");
  const exists = await Deno.stat(program).then(() => true, () => false);
  if (exists) return program;
  const args = [`GOBIN=${folder}`, "go", "install", ACTIONLINT];
  return await run("env", args, root, DOWNLOAD_TIMEOUT_MS)
    .then(() => program, () => undefined);
}
