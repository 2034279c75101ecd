/**
 * Measures speed.
 *
 * ```sh
 * deno task bench relay --sizes 100,1m --contestants floor,ours
 * ```
 *
 * @module
 */
import process from "node:process";
import { Command } from "commander";
import { CONTESTANTS } from "./contestants/mod.ts";
import { killAll } from "./contestants/running.ts";
import { Generator } from "./generator.ts";
import { Messages } from "./messages.ts";
import { PAYLOADS } from "./payloads.ts";
import { measureRelay, type RelayRun } from "./relay.ts";
import { relayTable } from "./relay_table.ts";

process.on("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => process.exit(1));
}

/** Runs something with a folder of its own. */
async function withTools(
  run: (generator: Generator, messages: Messages) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-bench-" });
  try {
    await run(await Generator.build(folder), new Messages(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const list = (text: string) => text.split(",");

function payloadOf(name: string) {
  const payload = PAYLOADS.find((payload) => payload.name === name);
  if (payload) return payload;
  throw new Error(
    `Unknown size: ${name}; known are ${PAYLOADS.map((p) => p.name)}`,
  );
}

function tell(run: RelayRun): void {
  const cpu = run.serverCpuSeconds / run.calls * 1e6;
  console.error(
    `${run.payload} round ${run.round + 1} ${run.contestant}: ${
      cpu.toFixed(1)
    } µs CPU a call, ${
      (run.calls / run.seconds).toFixed(0)
    } calls/s, p50 ${run.p50} p99 ${run.p99} µs, generator ${
      (100 * run.generatorCpuSeconds / run.seconds).toFixed(0)
    } %`,
  );
}

const program = new Command("bench").description("Measures speed");
program.command("relay").description("Calls through a server")
  .option("--sizes <list>", "of answers", PAYLOADS.map((p) => p.name).join())
  .option(
    "--contestants <list>",
    Object.keys(CONTESTANTS).join(),
    "floor,stock,ours",
  )
  .option("--pairs <number>", "an Agent and a Computer each", "50")
  .option("--inflight <number>", "calls that a pair keeps on their way", "1")
  .option("--rate <number>", "calls per second; 0 waits for answers", "0")
  .option("--rounds <number>", "of all contestants in turn", "3")
  .option("--warmup <seconds>", "before it counts", "2")
  .option("--seconds <seconds>", "that count", "2")
  .action((options) =>
    withTools(async (generator, messages) => {
      const plan = {
        contestants: list(options.contestants),
        payloads: list(options.sizes).map(payloadOf),
        pairs: Number(options.pairs),
        inflight: Number(options.inflight),
        rate: Number(options.rate),
        rounds: Number(options.rounds),
        warmup: Number(options.warmup),
        seconds: Number(options.seconds),
      };
      const runs = await measureRelay(plan, generator, messages, tell);
      console.log(relayTable(plan, runs));
    })
  );

await program.parseAsync(process.argv.slice(2), { from: "user" });
process.exit(0);
