/**
 * `smcp-server key`: adds, lists and revokes the keys of a file. A file is replaced in one step, and
 * never holds what a Server would refuse.
 *
 * @module
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { UsageError } from "../../cli/run.ts";
import { columns, plain } from "../../cli/terminal_text.ts";
import { type ApiKey, apiKeys, parseApiKeys } from "../auth/api_keys.ts";
import { codeOf, inFile, whyUnreadable } from "./flags.ts";
import { missingNodes, OperatorClient, type OperatorFlags } from "./operate.ts";
import { doneSchema } from "../operator/schemas.ts";

/** Flags of `key add`. */
interface KeyAddFlags extends KeyListFlags {
  /** What the holder may be; absent: Agent and Computer. */
  readonly roles?: NonNullable<ApiKey["roles"]>;
  /** Patterns of offices. */
  readonly offices?: readonly string[];
  /** Patterns of names. */
  readonly names?: readonly string[];
  /** When it expires, in milliseconds since 1970; absent: never. */
  readonly expires?: number;
}

/** Flags of `key list`. */
interface KeyListFlags extends KeysFlags {
  /** Whether to print JSON. */
  readonly json?: true;
}

/** Flags of `key revoke`. */
interface KeyRevokeFlags extends OperatorFlags, Partial<KeysFlags> {
  /** For the audit log. */
  readonly reason: string;
}

/**
 * Makes a key, prints it once, and stores its hash.
 *
 * @throws {UsageError} when the file has a key of that id
 */
export async function keyAdd(id: string, flags: KeyAddFlags): Promise<void> {
  const { roles, offices, names, expires, json } = flags;
  const keys = await readKeys(flags) ?? [];
  if (keys.some((each) => each.id === id)) {
    throw new UsageError(
      `there is a key with the id ${
        JSON.stringify(id)
      } already: revoke it first, or choose another`,
    );
  }
  const key = randomBytes(32).toString("hex");
  const hash = createHash("sha256").update(key).digest("hex");
  const entry: ApiKey = {
    id,
    key: `sha256:${hash}`,
    ...(roles && { roles }),
    ...(offices && { offices }),
    ...(names && { names }),
    ...(expires !== undefined &&
      { expires: new Date(expires).toISOString() }),
  };
  try {
    await writeKeys(flags, [...keys, entry]);
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
  console.log(json ? JSON.stringify({ id, key }) : key);
  console.error(
    `stored its hash in ${
      plain(flags.apiKeys)
    }, where nobody can read it back; a running Server takes it at SIGHUP${
      entry.expires === undefined ? "" : `; it expires at ${entry.expires}`
    }`,
  );
}

/** Prints who has keys, what for and until when; never the keys. */
export async function keyList(flags: KeyListFlags): Promise<void> {
  const keys = await needed(flags);
  const shown = keys.map(({ key, ...rest }) => ({
    ...rest,
    hashed: key.startsWith("sha256:"),
    ...(rest.expires !== undefined && { expired: isPast(rest.expires) }),
  }));
  if (flags.json) return console.log(JSON.stringify(shown, null, 2));
  const any = (list: readonly string[] | undefined) => list?.join(" ") ?? "any";
  columns([
    ["ID", "ROLES", "OFFICES", "NAMES", "STORED", "EXPIRES"],
    ...shown.map(({ id, roles, offices, names, hashed, expires }) => [
      id,
      roles?.join(" ") ?? "agent computer",
      any(offices),
      any(names),
      hashed ? "hashed" : "in plain text",
      expires === undefined
        ? "never"
        : `${isPast(expires) ? "expired " : ""}${expires}`,
    ]),
  ]).forEach((line) => console.log(line));
}

const isPast = (time: string): boolean => Date.parse(time) <= Date.now();

/**
 * Takes a key out of the file, if there is one, and makes the running Server refuse it at once.
 *
 * @throws {Error} when either fails; what was done is told
 */
export async function keyRevoke(
  id: string,
  { apiKeys, reason, ...operator }: KeyRevokeFlags,
): Promise<void> {
  const client = new OperatorClient(operator);
  if (apiKeys !== undefined) {
    const keys = await needed({ apiKeys });
    const left = keys.filter((each) => each.id !== id);
    if (left.length === keys.length) {
      throw new UsageError(
        `no key in the file has the id ${
          JSON.stringify(id)
        }; the command "key list" shows them`,
      );
    }
    await writeKeys({ apiKeys }, left);
    console.log(`removed from ${plain(apiKeys)}: ${plain(id)}`);
  }
  const missing = missingNodes(
    await client.ask(
      "/keys/revoke",
      doneSchema,
      { principal: `key:${id}`, reason },
    ),
  );
  if (missing.length > 0) {
    throw new Error(
      `${missing.join("; ")}: ${plain(id)} is refused by all others; try again`,
    );
  }
  console.log(
    `refused by the Server until it reads its keys again: ${plain(id)}`,
  );
}

async function needed(flags: KeysFlags): Promise<ApiKey[]> {
  const keys = await readKeys(flags);
  if (keys !== undefined) return keys;
  throw new UsageError(
    `${
      plain(flags.apiKeys)
    }, the file of --api-keys, does not exist; the command "key add" makes it`,
  );
}

/** Where the keys are, from the command line. */
interface KeysFlags {
  /** The file. */
  readonly apiKeys: string;
}

/**
 * Reads the keys of a file.
 *
 * @returns `undefined` when there is no such file
 * @throws {UsageError} when it cannot be read, or is no list of keys
 */
async function readKeys(
  { apiKeys: file }: KeysFlags,
): Promise<ApiKey[] | undefined> {
  if (file.trimStart().startsWith("[")) {
    throw new UsageError(
      "--api-keys is the keys themselves here, which no command can change: name a file with it",
    );
  }
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new UsageError(
      `cannot read the file of --api-keys: ${whyUnreadable(error)}`,
    );
  }
  if (text.trim() === "[]") return [];
  try {
    const keys = parseApiKeys(text);
    apiKeys(keys); // checks what no Server would take
    return keys;
  } catch (error) {
    throw error instanceof TypeError
      ? new UsageError(inFile(file, error).message)
      : error;
  }
}

/**
 * Writes the keys of a file, in one step: who reads it meanwhile finds the old ones or the new ones. Only
 * its owner may read it.
 *
 * @throws {TypeError} for keys that no Server would take
 * @throws {Error} when it cannot be written
 */
async function writeKeys(
  { apiKeys: file }: KeysFlags,
  keys: readonly ApiKey[],
): Promise<void> {
  apiKeys(keys); // checks them
  const place = await realpath(file).catch(() => file);
  const draft = `${place}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(keys, null, 2)}\n`, {
      mode: 0o600,
      flag: "wx",
    });
    await rename(draft, place);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    const code = codeOf(error);
    throw new Error(`cannot write ${file}: ${WRITE_ERRORS[code] ?? code}`, {
      cause: error,
    });
  }
}

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  NotCapable: "run again with the --allow-read and --allow-write flags",
  ENOENT: "there is no such directory; create it",
  EACCES: "no permission; choose another place with --api-keys",
  EROFS: "it is on a file system that is read-only",
};
