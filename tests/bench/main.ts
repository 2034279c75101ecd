/**
 * Measures speed.
 *
 * ```sh
 * deno task bench
 * deno task bench relay --sizes 100,1m --contestants floor,ours
 * ```
 *
 * @module
 */
import process from "node:process";
import { Command } from "commander";
import { measureCalls } from "./calls.ts";
import { summarize } from "./calls_summary.ts";
import { CONTESTANTS } from "./contestants/mod.ts";
import { killAll } from "./contestants/running.ts";
import { payloadOf, PAYLOADS } from "./payloads.ts";
import { terminalTable } from "./terminal_table.ts";
import { withTools } from "./tools.ts";

process.on("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => process.exit(1));
}

const list = (text: string) => text.split(",");

const program = new Command("bench").description("Measures speed");

program.command("relay")
  .description("prints what calls through some servers cost")
  .option("--sizes <list>", "of answers", list, PAYLOADS.map((p) => p.name))
  .option("--contestants <list>", Object.keys(CONTESTANTS).join(), list, [
    "floor",
    "stock",
    "ours",
  ])
  .option("--pairs <number>", "an Agent and a Computer each", Number, 50)
  .option("--inflight <number>", "calls on their way of a pair", Number, 1)
  .option("--rotate", "calls go round the pairs; inflight is that of all")
  .option("--rate <number>", "calls/s; 0 waits for answers", Number, 0)
  .option("--rounds <number>", "of all contestants in turn", Number, 3)
  .option("--warmup <seconds>", "before it counts", Number, 2)
  .option("--seconds <seconds>", "that count", Number, 2)
  .action(({ sizes, contestants, rounds, rotate = false, ...numbers }) =>
    withTools(async (tools) => {
      const groups = (sizes as string[]).map((key) => ({
        key,
        contestants,
        load: { ...numbers, rotate, payload: payloadOf(key) },
      }));
      const runs = await measureCalls(groups, rounds, tools);
      console.log(terminalTable(summarize(runs)));
    })
  );

await program.parseAsync(process.argv.slice(2), { from: "user" });
process.exit(0);
