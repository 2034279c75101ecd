/**
 * The folder that the files of a skill are written to while it is fetched, and its limits.
 *
 * @module
 */
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkPath, SkillFault } from "./sandbox.ts";

/** How large a skill may be that an MCP server brings: the limits of the other SDKs (protocol §8.6). */
export const STAGING_LIMITS = {
  /** Bytes of all files together. */
  bytes: 256 * 1024 * 1024,
  /** Files and folders together. */
  members: 10_000,
  /** Bytes of a packed archive. */
  packedBytes: 64 * 1024 * 1024,
};

/** The same of a test, in which they are smaller. */
export type StagingLimits = Readonly<typeof STAGING_LIMITS>;

/** For this user alone (protocol §8.6). */
const PRIVATE_FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const PROGRAM_MODE = 0o700;

/** A new folder that the files of a skill are written to; nothing gets out of it, and it stays below its limits. */
export class StagingFolder {
  /** Where it is. */
  readonly path: string;
  /** Its limits. */
  readonly limits: StagingLimits;
  #bytes = 0;
  #members = 0;

  /** @param path a folder of its own, which holds nothing yet */
  constructor(path: string, limits: StagingLimits = STAGING_LIMITS) {
    this.path = path;
    this.limits = limits;
  }

  /**
   * Makes a folder.
   *
   * @param name its path, with `/`
   * @throws {Error} when it would be outside, or is one too many
   */
  async addFolder(name: string): Promise<void> {
    await makePrivate(this.#place(name));
  }

  /**
   * Writes a file.
   *
   * @param name its path, with `/`
   * @throws {Error} when it would be outside, or a limit is exceeded
   */
  async addFile(
    name: string,
    pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    isProgram = false,
  ): Promise<void> {
    const path = this.#place(name);
    await makePrivate(dirname(path));
    const file = await open(path, "w", isProgram ? PROGRAM_MODE : FILE_MODE);
    try {
      for await (const piece of pieces) {
        this.#bytes += piece.length;
        if (this.#bytes > this.limits.bytes) {
          throw new Error(`it is larger than ${this.limits.bytes} bytes`);
        }
        await file.writeFile(piece);
      }
    } finally {
      await file.close();
    }
  }

  #place(name: string): string {
    if (++this.#members > this.limits.members) {
      throw new Error(`it has more than ${this.limits.members} files`);
    }
    const path = name.replace(/\/+$/, "");
    if (!isInside(path)) {
      throw new Error(
        `it has a file outside of its folder: ${JSON.stringify(name)}`,
      );
    }
    return join(this.path, path);
  }
}

/** Makes a folder, and those above it, for this user alone. */
export async function makePrivate(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER_MODE });
}

function isInside(path: string): boolean {
  try {
    checkPath(path);
  } catch (error) {
    // Secrets may be there; they are not given out.
    return error instanceof SkillFault && error.reason === "forbidden";
  }
  return path !== "";
}
