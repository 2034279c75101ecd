import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A temporary folder of a test. */
export interface Scratch extends AsyncDisposable {
  /** Its path. */
  readonly path: string;
}

/** Creates a folder that is deleted, with its contents, at the end of the scope. */
export async function scratch(): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), "a2c-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}
