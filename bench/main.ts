/**
 * The benchmark command.
 *
 * ```sh
 * deno task bench
 * deno task bench relay --sizes 100,1m --contestants floor,ours
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
import { measureBlobs, renderBlobs } from "./blobs/mod.ts";
import { byFile, byRole, byRoom, pathTable } from "./call_path/count.ts";
import { measureCallPath } from "./call_path/measure.ts";
import { measureCalls } from "./calls.ts";
import { summarize } from "./calls_summary.ts";
import { clusterGoals, sizeGoals } from "./cluster/goals.ts";
import { measureCluster, measureSizes } from "./cluster/mod.ts";
import { clusterNotes } from "./cluster/render.ts";
import { whyNoCluster } from "./cluster/start.ts";
import { CONTESTANTS } from "./contestants/mod.ts";
import { ROOT } from "./contestants/running.ts";
import { NoCompiler } from "./generator.ts";
import { mcpGoals } from "./mcp/goals.ts";
import { measureMcp } from "./mcp/mod.ts";
import { neighboursGoals } from "./neighbours/goals.ts";
import { measureNeighbours } from "./neighbours/mod.ts";
import { alignedTable, neighboursTable } from "./neighbours/render.ts";
import { operatorGoals } from "./operator/goals.ts";
import { measureOperator } from "./operator/mod.ts";
import { payloadOf, PAYLOADS } from "./payloads.ts";
import { measurePlatforms } from "./platforms/mod.ts";
import { platformsSection } from "./platforms/render.ts";
import { FULL, inRounds, QUICK } from "./plan.ts";
import { type Goal, goalsOf } from "./report/goals.ts";
import { type Part, PARTS, type Report } from "./report/report.ts";
import { terminalTable } from "./terminal_table.ts";
import { leaveNothing, temporaryFolder } from "./leftovers.ts";
import { makeTools } from "./tools.ts";
import { measureParts, readReport, writeReport } from "./whole.ts";

leaveNothing();

const list = (text: string) => text.split(",");

const partsOf = (text: string): Part[] =>
  list(text).map((name) => {
    const part = PARTS.find((part) => part === name);
    if (part) return part;
    throw new InvalidArgumentError(`Expected some of ${PARTS.join(", ")}.`);
  });

const lineOfGoal = ({ figure, goal, measured }: Goal) =>
  `${figure}: ${measured} (goal ${goal})`;

/** A run of a few seconds, for `operator`. */
const QUICK_OPERATOR = { rounds: 1, seconds: 1 };

/** Prints the outcome; a partial failure counts as one. */
function end(failures: readonly string[], done: string): void {
  console.log(done);
  for (const failure of failures) console.error(`FAILED  ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}

const program = new Command("bench")
  // The program and one of its subcommands have options of the same name.
  .enablePositionalOptions()
  .description(
    "Measures speed, and writes docs/performance.md; an hour and a half",
  )
  .option(
    "--quick",
    "only prove that each part runs; writes to a temporary place",
  )
  .option("--parts <list>", PARTS.join(), partsOf, PARTS)
  .option("--rounds <number>", "of each part; the default is 5 or 3", Number)
  .option("--out <folder>", "where to write", join(ROOT, "docs"))
  .action(async ({ quick, parts, rounds, out }) => {
    const tools = await makeTools().catch((error) => {
      if (!quick || !(error instanceof NoCompiler)) throw error;
      console.log(`Skipped: ${error.message}`);
    });
    if (tools === undefined) return;
    const folder = quick ? temporaryFolder() : out;
    const plan = quick ? QUICK : inRounds(FULL, rounds);
    const earlier = await readReport(folder);
    const keep = (report: Report) => writeReport(folder, report);
    const why = parts.includes("cluster") ? await whyNoCluster() : undefined;
    if (why !== undefined) {
      if (quick) console.log(`Skipped: ${why}`);
      else tools.failures.push(why);
    }
    const possible = (parts as Part[]).filter((part) =>
      why === undefined || part !== "cluster"
    );
    const report = await measureParts(possible, plan, earlier, {
      ...tools,
      keep,
    });
    for (const goal of report ? goalsOf(report) : []) {
      console.log(lineOfGoal(goal));
    }
    // A quick check must not skip anything.
    const absent = quick ? Object.values(report?.absent ?? {}) : [];
    end(
      [...tools.failures, ...absent],
      quick ? "Every part runs" : `Written to ${folder}`,
    );
  });

program.command("render")
  .description("writes the page and the plots again from the data")
  .action(async () => {
    const folder = join(ROOT, "docs");
    const report = await readReport(folder);
    if (report) await writeReport(folder, report);
  });

program.command("relay")
  .description("prints what calls through some servers cost")
  .option("--sizes <list>", "of answers", list, PAYLOADS.map((p) => p.name))
  .option("--contestants <list>", Object.keys(CONTESTANTS).join(), list, [
    "floor",
    "stock",
    "ours",
  ])
  .option("--params <bytes>", "of a call's parameters", Number, 10)
  .option("--pairs <number>", "an Agent and a Computer each", Number, 50)
  .option("--inflight <number>", "calls on their way of a pair", Number, 1)
  .option("--rotate", "calls go round the pairs; inflight is that of all")
  .option("--rate <number>", "calls/s; 0 waits for answers", Number, 0)
  .option("--rounds <number>", "of all contestants in turn", Number, 3)
  .option("--warmup <seconds>", "that count apart", Number, 2)
  .option("--seconds <seconds>", "that count", Number, 2)
  .action(
    async ({ sizes, contestants, rounds, rotate = false, ...numbers }) => {
      const tools = await makeTools();
      const groups = (sizes as string[]).map((key) => ({
        key,
        contestants,
        load: { ...numbers, rotate, payload: payloadOf(key) },
      }));
      const runs = await measureCalls(groups, rounds, tools);
      end(tools.failures, terminalTable(summarize(runs)));
    },
  );

program.command("against")
  .description("compares this Server with that of another checkout, in turn")
  .argument("<folder>", "the root of the other checkout")
  .option("--sizes <list>", "of answers", list, ["100", "10k"])
  .option("--pairs <number>", "an Agent and a Computer each", Number, 50)
  .option("--rounds <number>", "of both in turn", Number, 5)
  .option("--warmup <seconds>", "that count apart", Number, 2)
  .option("--seconds <seconds>", "that count", Number, 3)
  .action(async (folder, { sizes, rounds, ...numbers }) => {
    const both = await againstCheckout(resolve(folder)).catch(({ message }) =>
      program.error(message)
    );
    const tools = await makeTools(both);
    const load = { ...numbers, params: 10, inflight: 1, rate: 0 };
    const groups = (sizes as string[]).map((key) => ({
      key,
      contestants: IN_TURN,
      load: { ...load, rotate: false, payload: payloadOf(key) },
    }));
    const runs = await measureCalls(groups, rounds, tools);
    const lines = [terminalTable(summarize(runs)), "", ...cpuAgainst(runs)];
    // Without one of them there is nothing to compare.
    end([...tools.failures, ...tools.field.absent.values()], lines.join("\n"));
  });

program.command("call-path")
  .description("counts the files and functions of one warm call")
  .option("--root <folder>", "another checkout, to compare", ROOT)
  .option("--files", "each file too")
  .action(async ({ root, files }) => {
    const counts = await measureCallPath(resolve(root));
    const lists = [byRole(counts), byRoom(counts)];
    end([], pathTable(files ? [...lists, byFile(counts)] : lists));
  });

program.command("cluster")
  .description(
    "measures Servers that share their offices, without writing it down; needs redis-server",
  )
  .option("--quick", "only prove that it runs")
  .option(
    "--rounds <number>",
    "of each comparison; the default is 5 or 3",
    Number,
  )
  .option("--sizes <list>", "of answers: measures calls alone", list)
  .action(async ({ quick = false, rounds, sizes }) => {
    const plan = quick ? QUICK : inRounds(FULL, rounds);
    const why = await whyNoCluster();
    if (why !== undefined && quick) return end([], `Skipped: ${why}`);
    if (why !== undefined) return end([why], "");
    const tools = await makeTools();
    if (sizes !== undefined) {
      const found = await measureSizes(plan.cluster, sizes, tools);
      return end(tools.failures, sizeGoals(found).map(lineOfGoal).join("\n"));
    }
    const found = await measureCluster(plan.cluster, tools);
    const goals = clusterGoals(found).map(lineOfGoal);
    end(tools.failures, [...clusterNotes(found), ...goals].join("\n\n"));
  });

program.command("platforms")
  .description(
    "measures the Server on Deno, Node, Bun and Cloudflare's workerd, without writing it down",
  )
  .option("--quick", "only prove that it runs")
  .option("--rounds <number>", "of all platforms in turn", Number, 5)
  .action(async ({ quick = false, rounds }) => {
    const tools = await makeTools();
    const { platforms } = quick ? QUICK : inRounds(FULL, rounds);
    const found = await measurePlatforms(platforms, tools);
    const text = [...platformsSection(found), terminalTable(found.calls)];
    end(
      [...tools.failures, ...tools.field.absent.values()],
      text.join("\n\n"),
    );
  });

program.command("mcp")
  .description("measures an office as one MCP server, without writing it down")
  .option("--quick", "only prove that it runs")
  .action(async ({ quick = false }) => {
    const goals = mcpGoals(await measureMcp({ quick }));
    end([], goals.map(lineOfGoal).join("\n"));
  });

program.command("operator")
  .description("measures what open streams of events cost a Server; Linux")
  .option("--quick", "only prove that it runs")
  .option("--streams <number>", "open at once", Number, 10)
  .option("--rate <number>", "calls/s", Number, 2000)
  .option("--rounds <number>", "of all Servers in turn", Number, 5)
  .option("--seconds <seconds>", "that count, of each", Number, 4)
  .action(async ({ quick = false, ...plan }) => {
    const goals = operatorGoals(
      await measureOperator(quick ? { ...plan, ...QUICK_OPERATOR } : plan),
    );
    const lines = goals.map(({ figure, goal, measured }) =>
      `${figure}: ${measured} (goal ${goal})`
    );
    end([], lines.join("\n"));
  });

program.command("blobs")
  .description(
    "measures 100 MiB down and up through a Server of small messages; Linux",
  )
  .option("--quick", "only prove that it runs, with 5 MiB")
  .action(async ({ quick = false }) =>
    end([], renderBlobs(await measureBlobs({ quick })))
  );

program.command("neighbours")
  .description(
    "measures how long a call waits while a member of another office sends the worst that is let in; Linux",
  )
  .option("--quick", "only prove that it runs")
  .option("--rows <pattern>", "only those whose titles match")
  .option("--server <file>", "server/main.ts of another checkout")
  .option("--out <file>", "write all figures there, as JSON")
  .action(async ({ quick = false, out, ...plan }) => {
    const tell = quick ? () => {} : (line: string) => console.error(line);
    const result = await measureNeighbours({ ...plan, quick, tell })
      .catch(({ message }) => program.error(message));
    if (out !== undefined) {
      await Deno.writeTextFile(out, JSON.stringify(result, null, 2));
    }
    const goals = neighboursGoals(result).map(lineOfGoal);
    end(
      [],
      [alignedTable(neighboursTable(result.rows)), "", ...goals].join("\n"),
    );
  });

await program.parseAsync(process.argv.slice(2), { from: "user" });
process.exit();
