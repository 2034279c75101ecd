import { existsSync } from "node:fs";
import { isExposed } from "../env_file.ts";
import { plain } from "../terminal_text.ts";
import { readOwn } from "./files.ts";
import type { RunProgram } from "./host.ts";
import { checkPlace, keepingOf, type Place } from "./manager.ts";
import type { ServiceName } from "./service.ts";

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
