import type { Stats } from "node:fs";

/** What a file must offer for {@linkcode readAt}; a `FileHandle` of Node does. */
interface ReadableFile {
  /** Reads some bytes; none only at the end. */
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }>;
}

/** Reads bytes of a file from a position on; fewer only at its end. */
export async function readAt(
  file: ReadableFile,
  position: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(
      bytes,
      filled,
      length - filled,
      position + filled,
    );
    if (bytesRead === 0) return bytes.subarray(0, filled);
    filled += bytesRead;
  }
  return bytes;
}

/**
 * Writes a file in one step: at its path is never half a file, and no failure leaves a draft.
 *
 * @param fs `node:fs/promises`, which browsers do not have
 * @param access the permissions of the file, also with its owner, who is kept where this user may do so
 * @throws {Error} of `node:fs/promises`
 */
export async function replaceFile(
  fs: Pick<
    typeof import("node:fs/promises"),
    "chmod" | "chown" | "rename" | "rm" | "writeFile"
  >,
  path: string,
  data: string | Uint8Array,
  access: number | Pick<Stats, "mode" | "uid" | "gid"> = 0o666,
): Promise<void> {
  // Beside it, hidden: a file is renamed within its folder only.
  const draft = path.replace(
    /[^\\/:]*$/,
    (name) => `.${name}.${crypto.randomUUID()}`,
  );
  try {
    if (typeof access === "number") {
      await fs.writeFile(draft, data, { mode: access, flag: "wx" });
    } else {
      const { mode, uid, gid } = access;
      await fs.writeFile(draft, data, { mode: 0o600, flag: "wx" });
      await fs.chown(draft, uid, gid).catch(() => {});
      await fs.chmod(draft, mode & 0o777); // the umask does not apply to it
    }
    await fs.rename(draft, path);
  } catch (error) {
    await fs.rm(draft, { force: true }).catch(() => {});
    throw error;
  }
}

/** Joins parts in order. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Copies a part of a text that is kept longer than the text itself: engines make it a view, which holds
 * the whole, such as a message of megabytes for a name in it. What `JSON.parse()` makes of a text is a
 * copy already.
 */
export const copyOf = (part: string): string =>
  JSON.parse(JSON.stringify(part)) as string;

/**
 * Frees bytes that are no longer used, unless their buffer holds others too: the garbage collector would
 * find it late, and marks all that lives for it.
 */
export function release({ length, buffer }: Uint8Array): void {
  const isAlone = length === buffer.byteLength;
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
