/**
 * The files of a service: its definition, and the variables that it needs, of which credentials are in a
 * file that only its user can read.
 *
 * @module
 */
import * as fs from "node:fs/promises";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  ENV_FILE_VARIABLE,
  formatEnvFile,
  isExposed,
  parseEnvFile,
  PRIVATE_MODE,
  type Variables,
} from "../env_file.ts";
import { madeBy, type ServiceName } from "./manager.ts";
import { replaceFile } from "../../shared/bytes.ts";
import { NETWORK_VARIABLES } from "../../shared/net/network_variables.ts";

/** Where programs and files of a user are; a service has a small environment of its own. */
const PLACES = [
  "PATH",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "A2C_SKILL_HOME",
  "DENO_DIR",
];

/**
 * Picks what a service needs of this environment: without it, it would not find the programs that
 * are found here, or the network.
 *
 * @returns public ones, and those for the file of credentials
 */
export function pickVariables(
  env: Readonly<Record<string, string | undefined>>,
  envFile: string,
): Record<"open" | "secret", Variables> {
  const picked = [...PLACES, ...NETWORK_VARIABLES].flatMap((name) => {
    const value = env[name] ?? "()";
    // Bash exports shell functions in this form; they are code.
    return value.startsWith("()") ? [] : [[name, value] as const];
  });
  // The address of a proxy may hold a password.
  const isSecret = ([name, value]: readonly [string, string]) =>
    NETWORK_VARIABLES.includes(name) && value.includes("@");
  return {
    open: {
      ...Object.fromEntries(picked.filter((one) => !isSecret(one))),
      [ENV_FILE_VARIABLE]: envFile,
    },
    secret: Object.fromEntries(picked.filter(isSecret)),
  };
}

/**
 * Reads a file that `install` makes; `undefined` if there is none.
 *
 * @throws {Error} when it was made by hand or by another program
 */
export function readOwn(file: string, name: ServiceName): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (Object(error).code === "ENOENT") return undefined;
    throw error;
  }
  if (text.slice(0, 300).includes(madeBy(name))) return text;
  throw new Error(
    `${file} was not made by "${name} service install", and is kept; move it away first`,
  );
}

/** Writes a file in one step, so that no reader gets half of it. */
export async function writeWhole(
  file: string,
  text: string,
  mode: number,
): Promise<void> {
  // Only this user can look into the directories that are made for it.
  await fs.mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(fs, file, text, mode);
}

/**
 * Adds variables to those that a service has, in a file for its user alone.
 *
 * @param given new variables, stronger than the old ones
 * @param dropped names of variables that are no longer given as such
 * @returns all of them; one line for each that is new, changed or kept, without values; whether the
 * service has to be started again for them; and what writes them
 * @throws {Error} when the file was made by hand or by another program, or cannot be read
 */
export function changeVariables(
  file: string,
  name: ServiceName,
  given: Variables,
  dropped: readonly string[],
): {
  readonly all: Variables;
  readonly changes: readonly string[];
  readonly isChanged: boolean;
  readonly save: () => Promise<void>;
} {
  const text = readOwn(file, name);
  const old = text === undefined ? {} : parseEnvFile(text, file);
  const kept = Object.entries(old).filter(([one]) => !dropped.includes(one));
  const all: Variables = { ...Object.fromEntries(kept), ...given };
  const next = formatEnvFile([
    `${madeBy(name)}: credentials, as NAME=VALUE. Only you may read this file.`,
    "Changes take effect at the next start of the service.",
  ], all);
  const wasExposed = text !== undefined && isExposed(file);
  const names = Object.keys({ ...old, ...all });
  const changed = names.filter((one) => old[one] !== all[one]);
  const same = names.filter((one) => old[one] === all[one]);
  return {
    all,
    changes: [
      ...(wasExposed ? ["it was readable by others; now only by you"] : []),
      ...changed.map((one) => {
        const is = !(one in old) ? "added" : one in all ? "changed" : "removed";
        return `${one} ${is}`;
      }),
      ...same.filter((one) => !Object.hasOwn(given, one))
        .map((one) => `${one} kept`),
    ],
    isChanged: wasExposed || changed.length > 0,
    async save() {
      if (text === next && !wasExposed) return;
      await writeWhole(file, next, PRIVATE_MODE);
    },
  };
}
