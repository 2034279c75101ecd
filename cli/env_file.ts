import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";

/** The variable that names a file with further variables. */
export const ENV_FILE_VARIABLE = "SMCP_ENV_FILE";

/** The permissions of a file that only its owner can use. */
export const PRIVATE_MODE = 0o600;

/** The permissions of all but the owner. */
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;

/** What is wrong with a file of variables, and what to do. */
export class EnvFileError extends Error {
  /** Always `"EnvFileError"`. */
  override readonly name = "EnvFileError";
}

/** Names and values of variables. */
export type Variables = Readonly<Record<string, string>>;

/** Checks whether others than the owner can use a file; unknown on Windows, where it is false. */
export const isExposed = (file: string): boolean =>
  process.platform !== "win32" && (statSync(file).mode & OTHERS) !== 0;

/**
 * Returns why the keys of a file, which need not exist yet, may be known to another user, or another user's,
 * and what to do; undefined where they are not, and on Windows, where that is unknown.
 */
export function whyNotOwn(file: string): string | undefined {
  if (process.platform === "win32") return undefined;
  const folder = dirname(file);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && (found.mode & OTHERS) !== 0) {
    return "others can read it; run chmod 600, and pair again";
  }
  if (found !== undefined && found.uid !== process.getuid?.()) {
    return "it belongs to another user; move it away, and pair again";
  }
  const { mode = 0 } = statSync(folder, { throwIfNoEntry: false }) ?? {};
  return (mode & OTHERS_WRITE) === 0
    ? undefined
    : `others can replace it, as they can write to its folder; run chmod go-w ${folder}, and pair again`;
}

/**
 * Adds the variables of the file in `SMCP_ENV_FILE` to an environment; does nothing without that
 * variable. What the environment has already stays.
 *
 * @throws {EnvFileError} when the file cannot be used; the message never contains a value
 */
export function loadEnvFile(env: Record<string, string | undefined>): void {
  const file = env[ENV_FILE_VARIABLE];
  if (!file) return;
  let text: string | undefined;
  try {
    text = isExposed(file) ? undefined : readFileSync(file, "utf8");
  } catch (error) {
    throw new EnvFileError(
      Object(error).code === "ENOENT"
        ? `there is no file ${file}, which ${ENV_FILE_VARIABLE} names; make it, or leave the variable out`
        : `cannot read the file of ${ENV_FILE_VARIABLE}, ${file}: ${
          Object(error).message
        }`,
    );
  }
  if (text === undefined) {
    const quoted = JSON.stringify(file);
    throw new EnvFileError(
      `others can use the file of ${ENV_FILE_VARIABLE}, ${file}, which may hold credentials; make it yours alone: chmod 600 ${quoted}`,
    );
  }
  for (const [name, value] of Object.entries(parseEnvFile(text, file))) {
    env[name] ??= value;
  }
}

/**
 * Parses lines of `NAME=value`; a value in double quotes is a JSON string. Lines that are empty or
 * begin with `#` are skipped.
 *
 * @param file its name, for errors
 * @throws {EnvFileError} that names the line; the message never contains a value
 */
export function parseEnvFile(text: string, file: string): Variables {
  const variables = new Map<string, string>();
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const where = `${file}:${index + 1}`;
    const sign = line.indexOf("=");
    const name = line.slice(0, sign).trimEnd();
    if (sign === -1 || !isVariableName(name)) {
      throw new EnvFileError(`${where}: expected NAME=VALUE`);
    }
    if (variables.has(name)) {
      throw new EnvFileError(`${where}: ${name} is there twice; remove one`);
    }
    const value = line.slice(sign + 1).trimStart();
    try {
      const isQuoted = value.startsWith('"');
      variables.set(name, isQuoted ? String(JSON.parse(value)) : value);
    } catch {
      throw new EnvFileError(
        `${where}: the value of ${name} begins with a double quote, but is no JSON string; write it without quotes, or escape it as in JSON`,
      );
    }
  }
  return Object.fromEntries(variables);
}

/** Writes variables for {@linkcode parseEnvFile}, with comments before them. */
export const formatEnvFile = (
  comments: readonly string[],
  variables: Variables,
): string =>
  [
    ...comments.map((line) => `# ${line}`),
    ...Object.entries(variables).map(([name, value]) =>
      `${name}=${isPlain(value) ? value : JSON.stringify(value)}`
    ),
    "",
  ].join("\n");

/** Checks whether a file can hold a variable of this name. */
export const isVariableName = (name: string): boolean =>
  /^[^\s=#"'\0]+$/.test(name);

/** Checks whether a value is read as it is written. */
const isPlain = (value: string): boolean =>
  value.trim() === value && !/^"|[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(value);
