import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of a test's own. */
export interface Scratch extends AsyncDisposable {
  /** Where it is. */
  readonly path: string;
}

/** Makes a folder that is gone, with all that is in it, at the end of the scope. */
export async function scratch(): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), "a2c-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}
