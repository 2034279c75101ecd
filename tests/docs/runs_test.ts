/**
 * Every command and program of the README and of docs/ is run as it is written, or is in the one list
 * of those that cannot be.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { codeBlocks } from "./support/blocks.ts";
import { ELSEWHERE } from "../pages/elsewhere.ts";
import { NOT_RUN } from "../pages/not_run.ts";
import { SCENES } from "../pages/scenes/mod.ts";
import {
  blockOf,
  isNotRun,
  linesOf,
  RUNNABLE,
} from "../pages/support/scene.ts";

const blocks = (await codeBlocks())
  .filter(({ language }) => RUNNABLE.includes(language));
const pageOf = (at: string) => at.slice(0, at.lastIndexOf(":"));

Deno.test("every command and program of the pages is run by exactly one test, or is listed", async () => {
  const times = new Map(blocks.map(({ at }) => [at, 0]));
  const claims = [
    ...SCENES.flatMap(({ page, has, covers = [] }) =>
      [has, ...covers].map((has) => ({ page, has }))
    ),
    ...ELSEWHERE,
  ];
  for (const claim of claims) {
    const { at } = await blockOf(claim);
    times.set(at, (times.get(at) ?? 0) + 1);
  }
  for (const { at, code, language } of blocks) {
    const isListed = language === "sh" &&
      linesOf(code).every((line) => isNotRun(pageOf(at), line));
    if (isListed) times.set(at, (times.get(at) ?? 0) + 1);
  }
  assertEquals([...times].filter(([, count]) => count !== 1), []);
});

Deno.test("what cannot be run is on the pages, once in the list, and says why", () => {
  for (const { page, line, reason } of NOT_RUN) {
    const shown = blocks.filter(({ at, code }) =>
      pageOf(at) === page && linesOf(code).includes(line)
    );
    assertEquals(shown.length, 1, `${page}: ${line}`);
    assert(reason.length > 20, line);
  }
  const keys = NOT_RUN.map(({ page, line }) => `${page}: ${line}`);
  assertEquals(keys.length, new Set(keys).size);
});

Deno.test("the tests that run blocks elsewhere are there", async () => {
  for (const { file, test } of ELSEWHERE) {
    const text = await Deno.readTextFile(
      new URL(`../${file}`, import.meta.url),
    );
    assert(text.includes(`"${test}"`), `${file}: ${test}`);
  }
});
