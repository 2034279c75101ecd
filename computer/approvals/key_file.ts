/**
 * The file of keys of one Computer, which only its owner can read: the Computer's private keys, what is
 * needed to let its devices in and to verify them, and the permissions that hold beyond a restart.
 *
 * It is read once, and locked until the Computer ends: two Computers would undo each other's changes, and
 * a file that is edited meanwhile must not let a device in. Each change replaces the whole file. One that
 * cannot be read is an error, and stays as it is.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { whyNotOwn } from "../../cli/env_file.ts";
import {
  computerId,
  newKeys,
  publicKeys,
  readMessage,
  type Self,
  writeMessage,
} from "../../shared/approvals/message.ts";
import { exportKeys, importKeys } from "../../shared/approvals/saved_keys.ts";
import { LIMITS } from "../../shared/approvals/question.ts";
import { queue } from "../../shared/async.ts";
import { replaceFile } from "../../shared/bytes.ts";
import { type LockTimes, withFileLock } from "../../shared/file_lock.ts";
import { reasonOf } from "../util/values.ts";
import { type SavedDevice, savedDevices, savedPermissions } from "./saved.ts";
import type { Permission } from "../rules/permissions.ts";

/** The version of the file's form. */
const FORM = 1;
const PRIVATE_MODE = 0o600;

/** A lock of which it is not known whether its process runs is taken over after about 5 s. */
const LOCK_TIMES: LockTimes = {
  touchMs: 1_000,
  lookMs: 25,
  staleLooks: 200,
  waitMs: 8_000,
};

/** What is in the file, but the Computer's keys, which never change. */
export interface Saved {
  readonly devices: readonly SavedDevice[];
  readonly permissions: readonly Permission[];
}

/** The file of keys of a running Computer. */
export class KeyFile {
  /** The Computer's id and keys. */
  readonly self: Self;
  readonly #path: string;
  readonly #keys: unknown;
  readonly #lock: Lock;
  #saved: Saved;
  /** Writes follow each other, so that the last state stays. */
  readonly #inTurn = queue();

  private constructor(
    path: string,
    { self, keys, saved }: Content,
    lock: Lock,
  ) {
    this.#path = path;
    this.self = self;
    this.#keys = keys;
    this.#saved = saved;
    this.#lock = lock;
  }

  /**
   * Reads and locks a file; one that does not exist has new keys, and is written by the first change.
   *
   * @throws {Error} when it cannot be used: it names the file, the field, the problem and the fix
   */
  static async open(
    path: string,
    times: LockTimes = LOCK_TIMES,
  ): Promise<KeyFile> {
    await fs.mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const lock = await takeLock(`${path}.lock`, times);
    try {
      await removeDrafts(path);
      return new KeyFile(path, await readContent(path), lock);
    } catch (error) {
      await lock.release();
      throw new Error(
        `${path}: ${
          reasonOf(error)
        }; repair the file, or move it away and pair your devices again`,
      );
    }
  }

  /** What the file has now. */
  get saved(): Saved {
    return this.#saved;
  }

  /**
   * Replaces a part of the file.
   *
   * @throws {Error} when it cannot be written; the next change writes this one, too
   */
  async save(part: Partial<Saved>): Promise<void> {
    this.#saved = { ...this.#saved, ...part };
    await this.#inTurn(async () => {
      const { devices, permissions } = this.#saved;
      const content = {
        version: FORM,
        computer: this.#keys,
        devices,
        permissions,
      };
      const text = `${JSON.stringify(content, null, 2)}\n`;
      if (!await this.#lock.isHeld()) {
        throw new Error(
          `${this.#path}: another Computer uses it now; end one of the two`,
        );
      }
      try {
        await replaceFile(fs, this.#path, text, PRIVATE_MODE);
      } catch (error) {
        throw new Error(
          `${this.#path}: cannot be written: ${
            reasonOf(error)
          }; make its folder writable for this user`,
        );
      }
    });
  }

  /** Unlocks the file, after what is being written. */
  async close(): Promise<void> {
    await this.#inTurn(() => Promise.resolve());
    await this.#lock.release();
  }
}

/** The lock of a file. */
interface Lock {
  /** Whether it was not taken over: the process may have been stopped for long, as by Ctrl-Z. */
  isHeld(): Promise<boolean>;
  /** Gives it back. */
  release(): Promise<void>;
}

/** What was read, or made. */
interface Content {
  readonly self: Self;
  /** The private keys as they are written. */
  readonly keys: unknown;
  readonly saved: Saved;
}

async function takeLock(path: string, times: LockTimes): Promise<Lock> {
  const held = Promise.withResolvers<Lock["isHeld"]>();
  const released = Promise.withResolvers<void>();
  const work = withFileLock(
    path,
    (isHeld) => {
      held.resolve(isHeld);
      return released.promise;
    },
    undefined,
    times,
  );
  work.catch((error) =>
    held.reject(
      new Error(
        `${reasonOf(error)}: a Computer with the same keys may be running`,
      ),
    )
  );
  return {
    isHeld: await held.promise,
    release: () => {
      released.resolve();
      return work;
    },
  };
}

/** Removes what a process was writing when it was killed: it has the keys. Nothing else writes now. */
async function removeDrafts(path: string): Promise<void> {
  const folder = dirname(path);
  const begin = `.${basename(path)}.`;
  for (const name of await fs.readdir(folder)) {
    const isDraft = name.startsWith(begin) &&
      /^[\da-f-]{36}$/.test(name.slice(begin.length));
    if (isDraft) await fs.rm(join(folder, name), { force: true });
  }
}

async function readContent(path: string): Promise<Content> {
  const why = whyNotOwn(path);
  if (why !== undefined) throw new Error(why);
  let text: string;
  try {
    text = await fs.readFile(path, "utf8");
  } catch (error) {
    if (Object(error).code !== "ENOENT") throw error;
    return await newContent();
  }
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error("it is not JSON");
  }
  const { version, computer, devices, permissions = [] } = Object(data);
  if (version !== FORM) throw new Error(`version: expected ${FORM}`);
  const keys = await importKeys(computer, "computer");
  const pub = await publicKeys(keys);
  const self = { id: await computerId(pub), keys, pub };
  await tryKeys(self);
  return {
    self,
    keys: computer,
    saved: {
      devices: await savedDevices(devices, self.id, LIMITS.devices),
      permissions: savedPermissions(permissions),
    },
  };
}

async function newContent(): Promise<Content> {
  const keys = await newKeys(true);
  const pub = await publicKeys(keys);
  return {
    self: { id: await computerId(pub), keys, pub },
    keys: await exportKeys(keys),
    saved: { devices: [], permissions: [] },
  };
}

/** Makes sure that public and private keys belong together: otherwise no device would ever get an answer. */
async function tryKeys(self: Self): Promise<void> {
  try {
    const message = await writeMessage("news", {}, self, self);
    await readMessage(message, ["news"], self, self);
  } catch {
    throw new Error(
      "computer: public and private keys do not belong together",
    );
  }
}
