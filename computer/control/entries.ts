/**
 * How the commands of a user find the Computers that run: a folder that only that user can open, with a
 * file for each of them, which names its socket.
 *
 * A Computer that was killed leaves its file behind: one whose socket refuses connections is removed by
 * whoever looks next. On Windows the socket is a named pipe, which others could open; the token in the
 * file is what they lack.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import * as fs from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { z } from "zod";
import { replaceFile } from "../../shared/bytes.ts";
import { statePath } from "../util/defaults.ts";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
/** Some systems take no longer paths of sockets, in bytes. */
const MAX_SOCKET_PATH = 100;

/** What the file of a running Computer has. */
const ENTRY = z.object({
  version: z.literal(1),
  socket: z.string().min(1),
  token: z.string().min(1),
  host: z.string(),
});
/** Where a Computer listens, and what it asks for. */
export type Entry = z.infer<typeof ENTRY> & {
  /** Its file. */
  readonly file: string;
  /** A folder that was made for its socket alone. */
  readonly folder?: string;
};

/** Returns the folder of running Computers. */
export const controlFolder = (
  env: Readonly<Record<string, string | undefined>>,
): string => statePath(env, "running");

/**
 * Makes a folder for its user alone, or narrows the one that is there.
 *
 * @throws {Error} when it is another user's, or none
 */
export async function privateFolder(folder: string): Promise<void> {
  await fs.mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  if (process.platform === "win32") return; // profiles are private there
  const { uid, mode } = await fs.stat(folder);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own) {
    throw new Error(
      `the folder ${folder} belongs to another user; set XDG_STATE_HOME to one of yours`,
    );
  }
  if (mode & OTHERS) await fs.chmod(folder, PRIVATE_FOLDER);
}

/** Chooses where a Computer is to listen; {@linkcode publish} follows when it does. */
export async function newEntry(folder: string): Promise<Entry> {
  await privateFolder(folder);
  const id = randomBytes(8).toString("hex");
  const entry = {
    version: 1,
    token: randomBytes(32).toString("hex"),
    host: hostname(),
    file: join(folder, `${id}.json`),
  } as const;
  if (process.platform === "win32") {
    return { ...entry, socket: `\\\\.\\pipe\\a2c-smcp-${id}` };
  }
  const socket = join(folder, `${id}.sock`);
  if (Buffer.byteLength(socket) <= MAX_SOCKET_PATH) return { ...entry, socket };
  const short = await fs.mkdtemp(join(tmpdir(), "a2c-")); // with 0700
  return { ...entry, socket: join(short, "sock"), folder: short };
}

/** Writes the file of a Computer that listens, by which commands find it. */
export async function publish(
  { file, version, socket, token, host }: Entry,
): Promise<void> {
  if (process.platform !== "win32") await fs.chmod(socket, PRIVATE_FILE);
  const text = JSON.stringify({ version, socket, token, host });
  await replaceFile(fs, file, text, PRIVATE_FILE);
}

/** Removes what a Computer has in the folder; while a process ends, so without waiting. */
export function withdraw(
  { file, socket, folder }: Pick<Entry, "file" | "socket" | "folder">,
): void {
  rmSync(file, { force: true });
  if (process.platform !== "win32") rmSync(socket, { force: true });
  if (folder !== undefined) rmSync(folder, { force: true, recursive: true });
}

/** Returns what is listed of this user's running Computers; some may be left of killed ones. */
export async function listEntries(folder: string): Promise<Entry[]> {
  const names = await fs.readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.filter((name) => /^[\da-f]{16}\.json$/.test(name)).map(
      async (name): Promise<Entry[]> => {
        const file = join(folder, name);
        const text = await fs.readFile(file, "utf8").catch(() => "");
        const entry = ENTRY.safeParse(orUndefined(text));
        return entry.success && await isOwn(file)
          ? [{ ...entry.data, file }]
          : [];
      },
    ),
  );
  return found.flat();
}

/**
 * Returns whether a file is this user's. The folder may have been open to others until a Computer narrowed it,
 * and an entry of theirs leads to a Computer of theirs, or names a file that is none of a Computer's.
 */
async function isOwn(file: string): Promise<boolean> {
  const own = process.getuid?.();
  if (own === undefined) return true; // profiles are private on Windows
  const found = await fs.lstat(file).catch(() => undefined);
  return found?.uid === own;
}

/**
 * Removes an entry whose socket refused a connection: nothing listens there any more. A folder in the
 * home of several machines has those of others, too.
 */
export function dropStale(entry: Entry): void {
  if (entry.host === hostname()) withdraw(entry);
}

function orUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
