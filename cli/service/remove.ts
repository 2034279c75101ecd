import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { deleteEmpty, readOwn } from "./files.ts";
import type { RunProgram } from "./host.ts";
import { checkPlace, keepingOf, type Place } from "./manager.ts";
import type { ServiceName } from "./service.ts";

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
