import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { DocumentFile } from "./document_files.ts";
import { publish } from "./publish.ts";
import type { DpeResolver } from "./resolver.ts";

/**
 * Publishes documents as files of a directory, for Agents that see the same disk (spec §8.3).
 *
 * Nothing is ever written outside the directory: names contain only safe characters, and a link in
 * the place of a file is replaced, not followed. Files are replaced atomically.
 *
 * ```ts
 * import { localDirResolver, type SmcpComputer } from "@a2c-smcp/sdk/computer";
 *
 * export function publish(computer: SmcpComputer): void {
 *   computer.registerDpeResolver(localDirResolver("/srv/documents"));
 * }
 * ```
 *
 * @param dir created if missing
 * @returns a resolver whose URIs are `file://`
 */
export function localDirResolver(dir: string): DpeResolver {
  return {
    resolve: async (uri, contents, { signal }) => {
      await mkdir(dir, { recursive: true });
      return await publish(uri, contents, (file) => {
        signal.throwIfAborted();
        return write(dir, file);
      });
    },
  };
}

async function write(
  dir: string,
  { name, bytes }: DocumentFile,
): Promise<string> {
  const path = resolve(dir, name);
  const draft = join(dir, `.${name}.${crypto.randomUUID()}`);
  try {
    await writeFile(draft, bytes, { flag: "wx" });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return pathToFileURL(path).href;
}
