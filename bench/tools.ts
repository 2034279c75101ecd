import { Field } from "./contestants/field.ts";
import { CONTESTANTS } from "./contestants/mod.ts";
import { Generator } from "./generator.ts";
import { temporaryFolder } from "./processes.ts";

/** The tools of every measurement. */
export interface Tools {
  /** @throws {NoCompiler} without a C compiler */
  readonly generator: Generator;
  readonly field: Field;
  /** Measurements that failed, with reasons. */
  readonly failures: string[];
  /** Reports progress. */
  tell(line: string): void;
}

/** Builds the tools. */
export async function makeTools(contestants = CONTESTANTS): Promise<Tools> {
  const folder = temporaryFolder();
  const began = Date.now();
  return {
    generator: await Generator.build(folder),
    field: new Field(folder, contestants),
    failures: [],
    tell: (line) => console.error(`${sinceText(began)}  ${line}`),
  };
}

/**
 * Runs a measurement, and repeats it once if it fails: on a shared machine, a connection may be lost.
 *
 * @returns `undefined` when it failed twice; `failures` has the reason
 */
export async function attempt<T>(
  what: string,
  { failures, tell }: Tools,
  run: () => Promise<T>,
): Promise<T | undefined> {
  for (let left = 1; left >= 0; left--) {
    try {
      return await run();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      tell(`${what}: ${reason}`);
      const [line = ""] = reason.split("\n");
      if (left === 0) failures.push(`${what}: ${line.slice(0, 200)}`);
    }
  }
}

function sinceText(began: number): string {
  const seconds = Math.floor((Date.now() - began) / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
}
