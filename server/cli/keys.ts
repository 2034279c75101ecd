/**
 * `smcp-server key`: adds, lists and revokes the keys of a file. A file is replaced in one step, and
 * never holds what a Server would refuse.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import {
  fileErrorCode,
  isNothingThere,
  unwritable,
  whyUnreadable,
} from "../../cli/explain_failure.ts";
import { print as printLine, printError, printJson } from "../../cli/print.ts";
import { orUsageError, UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import type * as z from "../../protocol/schema.ts";
import {
  type ApiKey,
  apiKeys,
  newApiKey,
  parseApiKeys,
} from "../auth/api_keys.ts";
import { naming } from "./flags.ts";
import {
  missingNodes,
  OperatorClient,
  type OperatorFlags,
  print,
} from "./operate.ts";
import * as schemas from "../operator/schemas.ts";
import { replaceFile } from "../../shared/bytes.ts";
import { withFileLock } from "../../shared/file_lock.ts";

/** Flags of `key add`: what the holder may be, where and under which names. */
interface KeyAddFlags
  extends KeyListFlags, Pick<ApiKey, "roles" | "offices" | "names"> {
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
  const { text: key, entry } = newApiKey({
    id,
    ...(roles && { roles }),
    ...(offices && { offices }),
    ...(names && { names }),
    ...(expires !== undefined &&
      { expires: new Date(expires).toISOString() }),
  });
  await changeKeys(flags, true, (keys) => {
    if (keys.some((each) => each.id === id)) {
      throw new UsageError(
        `the file has a key with the id ${
          JSON.stringify(id)
        } already: revoke it first, or choose another`,
      );
    }
    return orUsageError(() => checked([...keys, entry]));
  });
  if (json) printJson({ id, key }, 0);
  else printLine(key);
  printError(
    `stored its hash in ${
      plain(flags.apiKeys)
    }, from which it cannot be read back; a running Server takes it at SIGHUP${
      entry.expires === undefined ? "" : `; it expires at ${entry.expires}`
    }`,
  );
}

/** Prints the holders of keys, with their rights and expiry; never the keys. */
export async function keyList(flags: KeyListFlags): Promise<void> {
  refuseInline(flags);
  const keys = await readKeys(flags);
  const shown = keys.map(({ key, ...rest }) => ({
    ...rest,
    hashed: key.startsWith("sha256:"),
    ...(rest.expires !== undefined &&
      { expired: Date.parse(rest.expires) <= Date.now() }),
  }));
  const any = (list: readonly string[] | undefined) => list?.join(" ") ?? "any";
  print(flags, shown, undefined, {
    ID: ({ id }) => id,
    ROLES: ({ roles }) => roles?.join(" ") ?? "agent computer",
    OFFICES: ({ offices }) => any(offices),
    NAMES: ({ names }) => any(names),
    STORED: ({ hashed }) => hashed ? "hashed" : "in plain text",
    EXPIRES: ({ expires, expired }) =>
      expires === undefined
        ? "never"
        : `${expired ? "expired " : ""}${expires}`,
  });
}

/**
 * Takes a key out of the file, if there is one, and makes the running Server refuse it. With a
 * file no Server needs to run, and without credentials none is asked.
 *
 * @throws {Error} when either fails, with what was done
 */
export async function keyRevoke(
  id: string,
  { apiKeys, reason, ...operator }: KeyRevokeFlags,
): Promise<void> {
  const { token, apiKey, url } = operator;
  const isAsked = apiKeys === undefined || (token ?? apiKey) !== undefined;
  const client = isAsked ? new OperatorClient(operator) : undefined;
  if (apiKeys !== undefined) await removeKey(id, { apiKeys });
  if (client === undefined) {
    return printError(
      "a running Server accepts the key until SIGHUP; add --token or --api-key to revoke it there too",
    );
  }
  let answer: z.output<typeof schemas.done>;
  try {
    const change = { principal: `key:${id}`, reason };
    answer = await client.ask("/keys/revoke", schemas.done, change);
  } catch (error) {
    if (apiKeys === undefined || !isNothingThere(error)) throw error;
    return printError(
      `no Server listens at ${
        plain(url)
      }; one that runs elsewhere accepts the key until SIGHUP`,
    );
  }
  const missing = missingNodes(answer);
  if (missing.length > 0) {
    throw new Error(
      `${missing.join("; ")}: all others refuse ${plain(id)}; try again`,
    );
  }
  printLine(
    `refused by the Server until it reads its keys again: ${plain(id)}`,
  );
}

/** @throws {UsageError} when there is no such key in the file, or no such file */
async function removeKey(id: string, flags: KeysFlags): Promise<void> {
  await changeKeys(flags, false, (keys) => {
    const left = keys.filter((each) => each.id !== id);
    if (left.length < keys.length) return left;
    throw new UsageError(
      `no key in the file has the id ${
        JSON.stringify(id)
      }; the command "key list" shows them`,
    );
  });
  printLine(`removed from ${plain(flags.apiKeys)}: ${plain(id)}`);
}

/** Where the keys are, from the command line. */
interface KeysFlags {
  /** The file. */
  readonly apiKeys: string;
}

/** @throws {UsageError} when `--api-keys` is no file */
function refuseInline({ apiKeys }: KeysFlags): void {
  if (!apiKeys.trimStart().startsWith("[")) return;
  throw new UsageError(
    "--api-keys has the keys themselves, which no command can change: name a file",
  );
}

/**
 * Reads the keys of a file.
 *
 * @param mayBeNew whether there may be no such file, and so no key
 * @throws {UsageError} when it cannot be read, or is no list of keys
 */
async function readKeys(
  { apiKeys: file }: KeysFlags,
  mayBeNew = false,
): Promise<ApiKey[]> {
  let text: string;
  try {
    text = await fs.readFile(file, "utf8");
  } catch (error) {
    const isAbsent = fileErrorCode(error) === "ENOENT";
    if (isAbsent && mayBeNew) return [];
    throw new UsageError(
      isAbsent
        ? `${
          plain(file)
        }, the file of --api-keys, does not exist; the command "key add" makes it`
        : `cannot read the file of --api-keys: ${
          whyUnreadable(error) ?? fileErrorCode(error)
        }`,
    );
  }
  return orUsageError(() => naming(file, () => checked(parseApiKeys(text))));
}

/** @throws {TypeError} for keys that no Server would take */
function checked(keys: ApiKey[]): ApiKey[] {
  apiKeys(keys);
  return keys;
}

/**
 * Changes the keys of a file, in one step: who reads it meanwhile finds the old ones or the new ones, and
 * commands at one time wait for each other. A new file is its owner's alone; another one stays readable
 * for whom it was, such as the user of a service.
 *
 * @param mayBeNew as of {@linkcode readKeys}
 * @throws {UsageError} when the keys cannot be read, and what `change` throws
 * @throws {Error} when they cannot be written
 */
async function changeKeys(
  flags: KeysFlags,
  mayBeNew: boolean,
  change: (keys: readonly ApiKey[]) => readonly ApiKey[],
): Promise<void> {
  refuseInline(flags);
  const place = await fs.realpath(flags.apiKeys).catch(() => flags.apiKeys);
  try {
    await withFileLock(`${place}.lock`, async () => {
      const keys = change(await readKeys(flags, mayBeNew));
      const text = `${JSON.stringify(keys, null, 2)}\n`;
      const old = await fs.stat(place).catch(() => undefined);
      await replaceFile(fs, place, text, old ?? 0o600);
    });
  } catch (error) {
    throw unwritable(error, flags.apiKeys, "--api-keys");
  }
}
