import { assert, assertEquals } from "@std/assert";
import {
  BY_CHANCE_MARK,
  FAILING_MARK,
  type LeftOut,
} from "./in_bun/register.ts";
import { copyTree, type Tree } from "./tree.ts";

/** Suites of this repository, as Bun runs them. */
export interface OnBun {
  /** How the server is reached, for the names of tests. */
  readonly way: string;
  /** Whether `Bun.serve` listens where a suite has a server listen. */
  readonly isOverFetch: boolean;
  /** Their files. */
  readonly files: readonly string[];
  /** Tests that cannot pass, or not always. */
  readonly leftOut: LeftOut;
}

/** Declares a test for each file, whose steps are the tests of the file. */
export function testOnBun(
  { way, isOverFetch, files, leftOut }: OnBun,
): void {
  let tree: Tree;
  const ran: string[] = [];

  Deno.test.beforeAll(async () => {
    tree = await copyTree(isOverFetch);
  });
  Deno.test.afterAll(async () => await tree[Symbol.asyncDispose]());

  for (const file of files) {
    Deno.test({
      name: `${file} passes on Bun, ${way}`,
      timeout: 600_000,
      fn: async (t) => {
        for (const { name, ok, text } of await tree.run(file, leftOut)) {
          ran.push(name);
          await t.step(name, () => assert(ok, text));
        }
      },
    });
  }

  Deno.test(`the files have tests, and those left out exist, ${way}`, () => {
    assert(ran.length > 2 * files.length, `only ${ran.length} tests ran`);
    const marked = [
      ...leftOut.failing.map((name) => FAILING_MARK + name),
      ...leftOut.byChance.map((name) => BY_CHANCE_MARK + name),
    ];
    assertEquals(marked.filter((name) => !ran.includes(name)), []);
  });
}
