import { assert, assertEquals } from "@std/assert";
import { startCluster } from "../../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../../support/cluster/rig/members.ts";
import { startPartition } from "../../support/cluster/rig/partition.ts";
import { until } from "../../support/cluster/programs.ts";

const ANSWERS = 200;
const MEGABYTE = 1_000_000;

Deno.test({
  name:
    "200 answers of 1 MB at once to an Agent on another node that reads slowly: each is answered, Redis of default configuration cuts nobody off, what waits is bounded",
  timeout: 240_000,
}, async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const [a, b] = [cluster.node(0), cluster.node(1)];
  await using far = await joinComputer(b.url, "far", "o");
  await using other = await joinAgent(a.url, "other", "p");
  await using near = await joinComputer(b.url, "near", "p");
  await using line = await startPartition(Number(new URL(a.url).port));
  const through = `http://127.0.0.1:${line.port}`;
  await using slow = await joinAgent(through, "planner", "o");
  await heard(other, "enter near");
  const answers = Array.from(
    { length: ANSWERS },
    () => callTool(slow, "planner", "far", { size: MEGABYTE, hold: true }),
  );
  await far.arrived(ANSWERS);
  line.hold("toClient");
  far.release();
  // Small calls of others pass all the while.
  let peak = 0;
  const small: number[] = [];
  const began = performance.now();
  while (performance.now() - began < 5000) {
    const start = performance.now();
    assertEquals((await callTool(other, "other", "near")).code, undefined);
    small.push(performance.now() - start);
    peak = Math.max(peak, await redisOutput(cluster.redis));
  }
  line.heal();
  // What is over the bound of the queue between the nodes is told, nothing is lost without an answer.
  const told = await Promise.all(answers);
  const results = told.filter(({ content }) => content !== undefined);
  for (const { content } of results) {
    assertEquals(content?.[0]?.text.length, MEGABYTE);
  }
  for (const { content, code, reason } of told) {
    if (!content) assertEquals([code, reason], [429, "node busy"]);
  }
  assert(results.length >= 50, `${results.length} results`);
  assert(near.called.length === small.length);
  const dropped = await cluster.redis.command("INFO", "stats");
  const [, cut = ""] =
    /client_output_buffer_limit_disconnections:(\d+)/.exec(String(dropped)) ??
      [];
  assertEquals(
    ["", "0"].includes(cut),
    true,
    `${cut} subscribers were cut off`,
  );
  assertEquals(
    cluster.redis.log.filter((line) =>
      /overcoming of output buffer/.test(line)
    ),
    [],
  );
  console.log(
    `${results.length} results of 1 MB, ${
      ANSWERS - results.length
    } times 429; at most ${
      (peak / 2 ** 20).toFixed(1)
    } MiB waited in Redis; ${small.length} small calls, the slowest ${
      Math.max(...small).toFixed(0)
    } ms`,
  );
  assert(peak < 32 * 2 ** 20, `${peak} bytes waited in Redis`);
  await until(async () =>
    (await callTool(other, "other", "near")).code === undefined
  );
  await cluster.proved();
});

/** The largest output that waits in Redis for one of its clients. */
async function redisOutput(
  redis: { command(...words: string[]): Promise<unknown> },
): Promise<number> {
  const clients = String(await redis.command("CLIENT", "LIST"));
  return Math.max(
    0,
    ...[...clients.matchAll(/ omem=(\d+)/g)].map(([, bytes]) => Number(bytes)),
  );
}
