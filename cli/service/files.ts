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

/** The variables of a service, before they are written. */
export interface ChangedVariables {
  /** All of them. */
  readonly all: Variables;
  /** One line for each that is new, changed or kept, without values. */
  readonly changes: readonly string[];
  /** Whether the service has to be started again for them. */
  readonly isChanged: boolean;
  /** Writes them. */
  save(): void;
}

/**
 * Adds variables to those that a service has, in a file for its user alone.
 *
 * @param given new variables, stronger than the old ones
 * @param dropped names of variables that are given in another way now
 * @throws {Error} when somebody else made the file, or it cannot be read
 */
export function changeVariables(
  file: string,
  name: ServiceName,
  given: Variables,
  dropped: readonly string[],
): ChangedVariables {
  const text = readOwn(file, name);
  const old = text === undefined ? {} : parseEnvFile(text, file);
  const kept = Object.entries(old).filter(([one]) => !dropped.includes(one));
  const all: Variables = { ...Object.fromEntries(kept), ...given };
  const next = formatEnvFile([
    `${madeBy(name)}: credentials, as NAME=VALUE. Only you may read this file.`,
    "What you change here counts from the next start of the service on.",
  ], all);
  const wasExposed = text !== undefined && isExposed(file);
  const names = Object.keys({ ...old, ...all });
  const changed = names.filter((one) => old[one] !== all[one]);
  return {
    all,
    changes: [
      ...(wasExposed ? ["others could read it; now only you can"] : []),
      ...changed.map((one) => `${one} ${howChanged(old[one], all[one])}`),
      ...names.filter((one) =>
        !changed.includes(one) && !Object.hasOwn(given, one)
      )
        .map((one) => `${one} kept`),
    ],
    isChanged: wasExposed || changed.length > 0,
    save() {
      if (text !== next || wasExposed) writeWhole(file, next, PRIVATE_MODE);
    },
  };
}

const howChanged = (
  old: string | undefined,
  value: string | undefined,
): string =>
  old === undefined ? "added" : value === undefined ? "removed" : "changed";
