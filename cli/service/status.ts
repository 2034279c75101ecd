import { dirname } from "node:path";
import { existsSync, rmSync } from "node:fs";
import { isExposed } from "../env_file.ts";
import { deleteEmpty, readOwn } from "./command.ts";
import {
  checkPlace,
  keepingOf,
  type Place,
  type RunProgram,
  type ServiceName,
} from "./manager.ts";
import { plain } from "../terminal_text.ts";

/**
 * Prints how a service is, and the last lines of its log.
 *
 * @throws {Error} when it does not run
 */
export async function status(
  name: ServiceName,
  place: Place,
  run: RunProgram,
): Promise<void> {
  const keeping = keepingOf(name, place, run);
  const { manager, envFile } = keeping;
  if (readOwn(manager.file, name) === undefined) {
    throw new Error(
      `${name} is not installed as a service (there is no ${manager.file}); "${name} service install --help" says how`,
    );
  }
  await checkPlace(name, place, keeping);
  const { state, since, detail } = await manager.state();
  const log = await manager.log();
  console.log(
    [
      `${name}: ${state}${since === undefined ? "" : ` since ${since}`}${
        detail === undefined ? "" : ` (${plain(detail)})`
      }`,
      `  definition: ${manager.file}`,
      `  credentials: ${envFile}${aboutFile(envFile)}`,
      `  log: ${log.command}`,
      ...(log.lines.length > 0 ? ["last lines of the log:"] : []),
      ...log.lines.map((line) => `  ${plain(line)}`),
    ].join("\n"),
  );
  if (state === "failed" || state === "stopped") {
    throw new Error(
      `${name} does not run; ${
        state === "failed" ? "its log says why" : "install it again to start it"
      }`,
    );
  }
}

const aboutFile = (file: string): string =>
  !existsSync(file)
    ? " (missing: install it again)"
    : isExposed(file)
    ? " (others can use it, so the service does not start; install it again)"
    : "";

/** Stops a service, and deletes what `install` wrote; its log stays. */
export async function remove(
  name: ServiceName,
  place: Place,
  run: RunProgram,
): Promise<void> {
  const keeping = keepingOf(name, place, run);
  const { manager, envFile } = keeping;
  const isDefined = readOwn(manager.file, name) !== undefined;
  const hasVariables = readOwn(envFile, name) !== undefined;
  if (!isDefined && !hasVariables) {
    console.log(`${name} is not installed as a service; nothing to remove`);
    return;
  }
  if (isDefined) {
    await checkPlace(name, place, keeping);
    await manager.stop();
    rmSync(manager.file);
    await manager.forget();
    console.log(`stopped ${name}; deleted ${manager.file}`);
  }
  if (hasVariables) {
    rmSync(envFile);
    deleteEmpty(dirname(envFile));
    console.log(`deleted ${envFile}`);
  }
}
