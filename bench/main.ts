/**
 * The benchmark command.
 *
 * ```sh
 * deno task bench
 * deno task bench relay --only '^100 50x1'
 * deno task bench call-path
 * deno task bench against ../older-checkout
 * ```
 *
 * @module
 */
import { join, resolve } from "node:path";
import process from "node:process";
import { Command, InvalidArgumentError } from "commander";
import { againstCheckout, cpuAgainst, IN_TURN } from "./against.ts";
import { byFile, byRole, measureCallPath, pathTables } from "./call_path.ts";
import { measureCalls, summarize } from "./calls.ts";
import { FULL, loadOf, type Plan, QUICK } from "./cases.ts";
import { whyNoCluster } from "./contestants/cluster.ts";
import { ROOT } from "./contestants/start.ts";
import { NoCompiler } from "./generator.ts";
import { measureParts, MEASURES, PARTS } from "./measure.ts";
import { leaveNothing, temporaryFolder } from "./processes.ts";
import { readReport, writeReport } from "./report/files.ts";
import { goalsOf } from "./report/goals.ts";
import { callsTable, goalsTable, TABLES } from "./report/page.ts";
import type { Part, Report } from "./report/report.ts";
import { makeTools, type Tools } from "./tools.ts";

leaveNothing();

const list = (text: string) => text.split(",");

const partsOf = (text: string): Part[] =>
  list(text).map((name) => {
    const part = PARTS.find((part) => part === name);
    if (part) return part;
    throw new InvalidArgumentError(`Expected some of ${PARTS.join(", ")}.`);
  });

/** Prints the outcome; a partial failure counts as one. */
function end(failures: Iterable<string>, done: string): void {
  console.log(done);
  for (const failure of failures) {
    console.error(`FAILED  ${failure}`);
    process.exitCode = 1;
  }
}

/** Prints the table of one part, and its goals; writes nothing. */
async function printPart<P extends Part>(
  part: P,
  plan: Plan,
  tools: Tools,
): Promise<void> {
  const found = await MEASURES[part](plan, tools);
  const goals = goalsOf({ [part]: { takenAt: "", rounds: 0, found } });
  const tables = [TABLES[part](found)];
  if (goals.length > 0) tables.push(goalsTable(goals));
  end([...tools.failures, ...tools.field.absent.values()], tables.join("\n\n"));
}

const program = new Command("bench")
  // The program and one of its subcommands have options of the same name.
  .enablePositionalOptions()
  .description("Measures speed, and writes docs/performance.md; an hour")
  .option(
    "--quick",
    "only prove that each part runs; writes to a temporary place",
  )
  .option("--parts <list>", PARTS.join(), partsOf, PARTS)
  .option("--rounds <number>", "of each part", Number, FULL.rounds)
  .option("--out <folder>", "where to write", join(ROOT, "docs"))
  .action(async ({ quick, parts, rounds, out }) => {
    const tools = await makeTools().catch((error) => {
      if (!quick || !(error instanceof NoCompiler)) throw error;
      console.log(`Skipped: ${error.message}`);
    });
    if (tools === undefined) return;
    const folder = quick ? temporaryFolder() : out;
    const plan = quick ? QUICK : { ...FULL, rounds };
    const why = parts.includes("cluster") ? await whyNoCluster() : undefined;
    if (why !== undefined && quick) console.log(`Skipped: ${why}`);
    else if (why !== undefined) tools.failures.push(why);
    const possible = (parts as Part[]).filter((part) =>
      why === undefined || part !== "cluster"
    );
    const report = await measureParts(possible, plan, tools, {
      earlier: await readReport(folder),
      keep: (report: Report) => writeReport(folder, report),
    });
    if (report) console.log(goalsTable(goalsOf(report.parts)));
    end(
      [...tools.failures, ...tools.field.absent.values()],
      quick ? "Every part runs" : `Written to ${folder}`,
    );
  });

program.command("render")
  .description("writes the page and the plot again from the data")
  .action(async () => {
    const folder = join(ROOT, "docs");
    const report = await readReport(folder);
    if (report) await writeReport(folder, report);
  });

const DESCRIPTIONS: Readonly<Record<Part, string>> = {
  relay: "what calls cost beside a bare relay and stock Socket.IO",
  growth: "what a call costs over numbers of pairs",
  ends: "a call through Agent, Server and Computer beside a direct one",
  mcp: "what an office costs as one MCP server",
  cluster: "calls of Servers that share their offices; needs redis-server",
  platforms: "calls on Deno, Node, Bun and Cloudflare's workerd",
  neighbours:
    "how long a call waits while a member of another office sends the worst that is let in; Linux",
};

for (const part of PARTS) {
  const command = program.command(part)
    .description(`prints ${DESCRIPTIONS[part]}`)
    .option("--quick", "only prove that it runs")
    .option("--rounds <number>", "of all in turn", Number, FULL.rounds)
    .action(async ({ quick, rounds, only, checkout }) => {
      const plan = quick ? QUICK : { ...FULL, rounds };
      await printPart(part, { ...plan, only, checkout }, await makeTools());
    });
  if (part === "ends" || part === "mcp") continue;
  command.option("--only <pattern>", "loads such as '^10k 50x', or rows");
  if (part !== "neighbours") continue;
  command.option(
    "--checkout <folder>",
    "another checkout, whose Server is measured",
  );
}

program.command("against")
  .description("compares this Server with that of another checkout, in turn")
  .argument("<folder>", "the root of the other checkout")
  .option("--sizes <list>", "of answers", list, ["100", "10k"])
  .option("--pairs <number>", "an Agent and a Computer each", Number, 50)
  .option("--rounds <number>", "of both in turn", Number, 15)
  .option("--warmup <seconds>", "that count apart", Number, 2)
  .option("--seconds <seconds>", "that count", Number, 3)
  .action(async (folder, { sizes, pairs, rounds, warmup, seconds }) => {
    const both = await againstCheckout(resolve(folder)).catch(({ message }) =>
      program.error(message)
    );
    const tools = await makeTools(both);
    const groups = (sizes as string[]).map((size) =>
      loadOf(`${size} ${pairs}x1`, IN_TURN, { warmup, seconds })
    );
    const runs = await measureCalls(groups, rounds, tools);
    const rows = summarize(runs, { [IN_TURN[1] ?? ""]: IN_TURN[0] ?? "" });
    const lines = [callsTable(rows), "", ...cpuAgainst(runs)];
    // Without one of them there is nothing to compare.
    end([...tools.failures, ...tools.field.absent.values()], lines.join("\n"));
  });

program.command("call-path")
  .description("counts the files and functions of one warm call")
  .option("--root <folder>", "another checkout, to compare", ROOT)
  .option("--files", "each file too")
  .action(async ({ root, files }) => {
    const counts = await measureCallPath(resolve(root));
    const lists = [byRole(counts), ...(files ? [byFile(counts)] : [])];
    end([], pathTables(lists));
  });

await program.parseAsync(process.argv.slice(2), { from: "user" });
process.exit();
