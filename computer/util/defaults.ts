/**
 * Defaults that the help of commands names; apart from what uses them, so that help loads nothing of
 * that.
 *
 * @module
 */
import { homedir } from "node:os";
import { join } from "node:path";

/** Default of `blobStore.maxBytes`. */
export const DEFAULT_BLOB_STORE_BYTES: number = 512 * 2 ** 20;
/** Default of `uploads.maxBytes`. */
export const DEFAULT_UPLOAD_BYTES: number = 100 * 2 ** 20;

/** Returns the path of a file or folder of the user's state, by the XDG convention. */
export const statePath = (
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string =>
  join(
    env.XDG_STATE_HOME || join(homedir(), ".local", "state"),
    "a2c-smcp",
    name,
  );

/** The file that `init` and `import` write by default. */
export const DEFAULT_CONFIG_FILE = "computer.json";
