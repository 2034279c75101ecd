/**
 * The folder of the owner for files of Agents: they grow in a hidden folder of it, and are moved to
 * their place when they are complete.
 *
 * @module
 */
import {
  access,
  lstat,
  mkdir,
  open,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { constants } from "node:fs";
import { join } from "node:path";
import { log } from "../util/log.ts";
import { ownerMark, removeLeftOvers } from "../util/processes.ts";
import { reasonOf } from "../util/values.ts";
import { blobWriteFailed } from "../../protocol/errors.ts";

/** The folder of unfinished files, in the root. */
const UPLOADS_FOLDER = ".a2c-upload";

/** An unfinished file. */
export interface Part {
  /** Appends bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Moves it to its place; returns the absolute path. */
  complete(name: string): Promise<string>;
  /** Removes it; never rejects. */
  remove(): Promise<void>;
}

/** The folder of the owner for files of Agents; nothing is written outside of it (protocol §8.7). */
export class UploadFolder {
  readonly #root: string;

  /** @param root the folder; it is made when it is needed first */
  constructor(root: string) {
    this.#root = root;
  }

  /** Removes unfinished files of processes that were killed; never rejects. */
  async removeLeftOver(): Promise<void> {
    const folder = join(this.#root, UPLOADS_FOLDER);
    const found = await lstat(folder).catch(() => undefined);
    if (found?.isDirectory()) await removeLeftOvers(folder, /\.part$/);
  }

  /**
   * Creates an unfinished file; finds the folders first, or makes them.
   *
   * @throws {ProtocolError} 4019 `forbidden` when the folders cannot be written, or lead elsewhere;
   * `io_error` when there is such a file, or a link
   */
  async create(id: string): Promise<Part> {
    const { root, folder } = await this.#open();
    const path = join(folder, `${id}.${ownerMark()}.part`);
    const file = await open(path, "wx").catch((error) => {
      log.warn("Cannot write a file of an Agent: {reason}", {
        reason: reasonOf(error),
      });
      throw blobWriteFailed("io_error", "the Computer cannot write it");
    });
    let isOpen = true;
    const close = async () => {
      if (isOpen) await file.close();
      isOpen = false;
    };
    return {
      write: async (bytes) => {
        for (let at = 0; at < bytes.length;) {
          at += (await file.write(bytes, at)).bytesWritten;
        }
      },
      complete: async (name) => {
        await close();
        await this.#check(root, folder);
        const place = join(root, name);
        await rename(path, place);
        return place;
      },
      remove: async () => {
        try {
          await close();
          await rm(path, { force: true });
        } catch (error) {
          log.warn("Cannot remove {path}: {reason}", {
            path,
            reason: reasonOf(error),
          });
        }
      },
    };
  }

  /** Returns the real paths of the root and of the folder of unfinished files. */
  async #open(): Promise<{ root: string; folder: string }> {
    try {
      await mkdir(this.#root, { recursive: true });
      const root = await realpath(this.#root);
      const folder = join(root, UPLOADS_FOLDER);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.W_OK);
      await access(root, constants.W_OK);
      await this.#check(root, folder);
      return { root, folder };
    } catch (error) {
      log.warn("Cannot take a file of an Agent in {root}: {reason}", {
        root: this.#root,
        reason: reasonOf(error),
      });
      throw blobWriteFailed(
        "forbidden",
        "the folder for files of Agents cannot be written; its owner finds the reason in the log",
      );
    }
  }

  /** Checks that no link has replaced a folder: such a link is not followed. */
  async #check(root: string, folder: string): Promise<void> {
    const isSame = await realpath(this.#root) === root &&
      await realpath(folder) === folder;
    if (!isSame) {
      throw new Error(`${UPLOADS_FOLDER} or the folder itself leads elsewhere`);
    }
  }
}
