import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import { againstCheckout, cpuAgainst } from "../../../bench/against.ts";
import type { CallsRun } from "../../../bench/calls.ts";
import { ROOT } from "../../../bench/contestants/running.ts";
import { NO_COMPILER } from "./compiler.ts";

const run = (contestant: string, round: number, cpu: number): CallsRun => ({
  key: "10k",
  contestant,
  round,
  calls: 1000,
  seconds: 2,
  processes: {},
  serverCpuSeconds: cpu / 1000,
  generatorCpuSeconds: 1,
  othersCpuSeconds: 0,
  rssBytes: 1,
  peakRssBytes: 2,
  p50: 1,
  p90: 2,
  p99: 3,
  p999: 4,
  max: 5,
});

Deno.test("cpuAgainst() compares the CPU of both in each round", () => {
  const runs = [
    run("other", 0, 10),
    run("ours", 0, 9),
    run("other", 1, 100), // the machine was slow for a while
    run("ours", 1, 80),
    run("other", 2, 10), // the other run of this round failed
  ];
  assertEquals(cpuAgainst(runs), [
    "10 KB: 0.85 (0.80–0.90) × the CPU of a call",
  ]);
  assertEquals(cpuAgainst(runs.slice(0, 1)), []);
});

Deno.test("againstCheckout() starts the other Server in its own folder", async () => {
  const { other, ours } = await againstCheckout(ROOT);
  assert(other && ours);
  const [old, own] = [await other.prepare(""), await ours.prepare("")];
  assertEquals(old.cwd, ROOT);
  assertEquals(own.cwd, undefined);
  assertEquals([old.command, old.args], [own.command, own.args]);
});

Deno.test("againstCheckout() names a folder without a Server", async () => {
  await assertRejects(
    () => againstCheckout("/no/such/checkout"),
    Error,
    "Cannot compare with /no/such/checkout: it has no server/main.ts",
  );
});

Deno.test({
  name: "bench against compares two checkouts",
  ignore: NO_COMPILER,
  timeout: 120_000,
  fn: async () => {
    const main = new URL("../../../bench/main.ts", import.meta.url);
    const { code, ...output } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", fileURLToPath(main), "against", ROOT],
        ...["--sizes=100", "--pairs=2", "--rounds=1"],
        ...["--warmup=0.1", "--seconds=0.2"],
      ],
    }).output();
    const stdout = new TextDecoder().decode(output.stdout);
    assertEquals(code, 0, new TextDecoder().decode(output.stderr));
    assertMatch(stdout, /^100 +other +\d/m);
    assertMatch(stdout, /^100 +ours +\d/m);
    assertMatch(stdout, /^100 B: \d+\.\d\d \(.*\) × the CPU of a call$/m);
  },
});
