import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import {
  formatEnvFile,
  isExposed,
  parseEnvFile,
  PRIVATE_MODE,
  type Variables,
} from "../env_file.ts";
import { madeBy, type ServiceName } from "./service.ts";

const codeOf = (error: unknown): unknown => Object(error).code;

/** Reads a file; `undefined` if there is none. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Reads a file that `install` makes; `undefined` if there is none.
 *
 * @throws {Error} when somebody else made it
 */
export function readOwn(file: string, name: ServiceName): string | undefined {
  const text = readIfThere(file);
  if (text === undefined || text.slice(0, 300).includes(madeBy(name))) {
    return text;
  }
  throw new Error(
    `${file} is not made by "${name} service install", and is left alone; move it away first`,
  );
}

/** Writes a file in one step, so that nobody meets half of it. */
export function writeWhole(file: string, text: string, mode: number): void {
  // Only this user can look into the directories that are made for it.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}.new`;
  try {
    writeFileSync(next, text, { mode, flag: "wx" });
    chmodSync(next, mode); // whatever the process's mask is
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}

/** Deletes a directory if it is empty. */
export function deleteEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(String(codeOf(error)))) {
      throw error;
    }
  }
}

/** What became of the variables of a service. */
export interface SavedVariables {
  /** All of them. */
  readonly variables: Variables;
  /** One line for each change, without values. */
  readonly changes: readonly string[];
}

/**
 * Adds variables to those that a service has, in a file for its user alone; nothing is written before
 * `save` is called.
 *
 * @param given new variables, stronger than the old ones
 * @param dropped names of variables that are given in another way now
 */
export function changeVariables(
  file: string,
  name: ServiceName,
  given: Variables,
  dropped: readonly string[],
): SavedVariables & { save(): void } {
  const text = readOwn(file, name);
  const old = text === undefined ? {} : parseEnvFile(text, file);
  const variables: Record<string, string> = { ...old, ...given };
  for (const variable of dropped) delete variables[variable];
  const next = formatEnvFile([
    `${madeBy(name)}: credentials, as NAME=VALUE. Only you may read this file.`,
    "What you change here counts from the next start of the service on.",
  ], variables);
  const wasExposed = text !== undefined && isExposed(file);
  const names = Object.keys({ ...old, ...variables });
  const changes = [
    ...(wasExposed ? ["others could read it; now only you can"] : []),
    ...names.flatMap((variable) =>
      variables[variable] === undefined
        ? [`${variable} removed`]
        : old[variable] === undefined
        ? [`${variable} added`]
        : old[variable] !== variables[variable]
        ? [`${variable} changed`]
        : given[variable] === undefined
        ? [`${variable} kept`]
        : []
    ),
  ];
  return {
    variables,
    changes,
    save() {
      if (text !== next || wasExposed) writeWhole(file, next, PRIVATE_MODE);
    },
  };
}
