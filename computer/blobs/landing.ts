import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { constants } from "node:fs";
import { join } from "node:path";
import { log } from "../util/log.ts";
import { isLeftOver, ownerMark } from "../util/processes.ts";
import { reasonOf } from "../util/values.ts";
import { blobWriteFailed } from "../../protocol/mod.ts";

/** The folder of unfinished files, in the root. */
const UPLOADS_FOLDER = ".a2c-upload";
const PART_SUFFIX = ".part";

/** An unfinished file. */
export interface Part {
  /** Appends bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Moves it to its place; returns the absolute path. */
  land(name: string): Promise<string>;
  /** Removes it; never rejects. */
  remove(): Promise<void>;
}

/** The folder of the owner for files of Agents; nothing is written outside of it (0.4 §7.5). */
export class Landing {
  readonly #root: string;

  /** @param root the folder; it is made when it is needed first */
  constructor(root: string) {
    this.#root = root;
  }

  /** Removes unfinished files of processes that were killed; never rejects. */
  async removeLeftOver(): Promise<void> {
    const folder = join(this.#root, UPLOADS_FOLDER);
    try {
      if (!(await lstat(folder)).isDirectory()) return;
      for (const name of await readdir(folder)) {
        if (!name.endsWith(PART_SUFFIX)) continue;
        const path = join(folder, name);
        const { mtimeMs } = await lstat(path);
        if (isLeftOver(name, mtimeMs)) await rm(path, { force: true });
      }
    } catch (error) {
      if (
        error instanceof Error && "code" in error && error.code === "ENOENT"
      ) return;
      log.warn("Cannot tidy up {folder}: {reason}", {
        folder,
        reason: reasonOf(error),
      });
    }
  }

  /**
   * Finds the folders, or makes them.
   *
   * @throws {ProtocolError} 4019 `forbidden` when they cannot be written, or lead elsewhere
   */
  async open(): Promise<OpenLanding> {
    try {
      await mkdir(this.#root, { recursive: true });
      const root = await realpath(this.#root);
      const folder = join(root, UPLOADS_FOLDER);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.W_OK);
      await access(root, constants.W_OK);
      const landing = new OpenLanding(this.#root, root, folder);
      await landing.check();
      return landing;
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
}

/** The folder of the owner as it was found; a link that is put in its place later is not followed. */
export class OpenLanding {
  readonly #given: string;
  readonly #root: string;
  readonly #folder: string;

  /**
   * @param given as the owner wrote it
   * @param root its real path
   * @param folder the folder of unfinished files, in the root
   */
  constructor(given: string, root: string, folder: string) {
    this.#given = given;
    this.#root = root;
    this.#folder = folder;
  }

  /** Checks that the folders are still what they were. @throws {Error} when they lead elsewhere */
  async check(): Promise<void> {
    const isSame = await realpath(this.#given) === this.#root &&
      await realpath(this.#folder) === this.#folder;
    if (!isSame) {
      throw new Error(`${UPLOADS_FOLDER} or the folder itself leads elsewhere`);
    }
  }

  /**
   * Creates an unfinished file; fails where there is one, or a link.
   *
   * @throws {ProtocolError} 4019 `io_error`
   */
  async create(id: string): Promise<Part> {
    const path = join(this.#folder, `${id}.${ownerMark()}${PART_SUFFIX}`);
    try {
      return this.#part(await open(path, "wx"), path);
    } catch (error) {
      log.warn("Cannot write a file of an Agent: {reason}", {
        reason: reasonOf(error),
      });
      throw blobWriteFailed("io_error", "the Computer cannot write it");
    }
  }

  #part(file: FileHandle, path: string): Part {
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
      land: async (name) => {
        await close();
        await this.check();
        const place = join(this.#root, name);
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
}
