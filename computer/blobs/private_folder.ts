import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { reasonOf } from "../util/values.ts";
import { log } from "../util/log.ts";
import { isLeftOver, ownerMark } from "../util/owner_mark.ts";

const PREFIX = "a2c-smcp-blobs-";

/** A folder of this process that only its user can read, made when it is needed first. */
export class PrivateFolder {
  readonly #parent: string;
  #path: Promise<string> | undefined;

  /** @param parent the folder that it is made in */
  constructor(parent: string) {
    this.#parent = parent;
  }

  /** Returns its path. */
  path(): Promise<string> {
    return this.#path ??= this.#make();
  }

  /** Removes it with all that it has. */
  async remove(): Promise<void> {
    const path = await this.#path?.catch(() => undefined);
    this.#path = undefined;
    if (path !== undefined) await rm(path, { recursive: true, force: true });
  }

  /** Removes the folders of processes that were killed; never rejects. */
  async removeLeftOver(): Promise<void> {
    const names = await readdir(this.#parent).catch(() => []);
    for (const name of names) {
      if (!name.startsWith(PREFIX)) continue;
      const path = join(this.#parent, name);
      try {
        const stat = await lstat(path);
        if (!stat.isDirectory() || !isLeftOver(name, stat.mtimeMs)) continue;
        await rm(path, { recursive: true, force: true });
      } catch (error) {
        log.info("Cannot remove {path}: {reason}", {
          path,
          reason: reasonOf(error),
        });
      }
    }
  }

  async #make(): Promise<string> {
    await mkdir(this.#parent, { recursive: true });
    const name = `${PREFIX}${ownerMark()}.${randomUUID()}`;
    const path = join(this.#parent, name);
    await mkdir(path, { mode: 0o700 });
    return path;
  }
}
