/**
 * Prints the cost of the ends as Markdown: `deno run -A bench/ends/main.ts [--quick]`.
 *
 * @module
 */
import { measureEnds, renderEnds } from "./mod.ts";

console.log(
  renderEnds(await measureEnds({ quick: Deno.args.includes("--quick") })),
);
