/**
 * Loads what needs packages that the npm package only recommends: `npm install @a2c-smcp/sdk` alone
 * brings what an Agent needs. In Deno the import map names them all.
 *
 * @param task what cannot be done without them, to follow "Cannot"
 * @param packages as `npm install` takes them
 * @throws {Error} that names the packages to install, when one of them is missing
 */
export async function loadPackages<T extends object>(
  task: string,
  packages: readonly string[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    const loaded = await load();
    return isDefaultAlone(loaded) ? loaded.default : loaded;
  } catch (error) {
    if (!isModuleNotFound(error)) throw error;
    const [what, them] = packages.length === 1
      ? [`the package ${packages[0]} is not installed`, "it"]
      : ["not all packages that it needs are installed", "them"];
    const command = `npm install ${packages.join(" ")}`;
    throw new Error(`Cannot ${task}: ${what}; install ${them}: ${command}`, {
      cause: error,
    });
  }
}

/** In bundles, and so in binaries, a CommonJS package has its exports as `default` alone. */
const isDefaultAlone = <T extends object>(
  loaded: T,
): loaded is T & { readonly default: T } =>
  "default" in loaded && Object.keys(loaded).length === 1;

const isModuleNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error &&
  error.code === "ERR_MODULE_NOT_FOUND";
