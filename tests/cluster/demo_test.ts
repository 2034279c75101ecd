import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import { startBalancer } from "../../examples/cluster_balancer.ts";
import { start } from "../support/child.ts";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../support/cluster/rig/members.ts";
import { leftInGroups } from "../support/processes.ts";
import { pollingEnds } from "../support/wire/polling_ends.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

Deno.test({
  name:
    "the demo kills two Servers, goes on, shows who sits where, and leaves nothing running",
  timeout: 180_000,
}, async () => {
  const demo = start(
    Deno.execPath(),
    ["run", "-A", "examples/cluster_demo.ts"],
    {
      cwd: root,
      group: true,
    },
  );
  const { code } = await demo.status;
  const output = demo.lines.join("\n");
  assertEquals(code, 0, output);
  assertMatch(output, /Server a ┤ .*\w/);
  assertEquals(output.match(/kill -9 of Server \w/g)?.length, 2);
  assertEquals(output.match(/┘ killed/g)?.length, 3, "one, then two");
  assertMatch(output, /calls since then/);
  assertMatch(output, /Nothing is left running/);
  assertEquals(await leftInGroups([demo.pid]), []);
});

Deno.test({
  name: "the balancer of the demo is sticky by session",
  timeout: 60_000,
}, async () => {
  await using cluster = await startCluster({ nodes: 0 });
  for (const name of ["a", "b", "c"]) {
    await cluster.add({ name, flags: ["--cluster-name", name] });
  }
  await using balancer = await startBalancer(cluster.nodes);
  await using _ends = pollingEnds();
  await using stack = new AsyncDisposableStack();
  for (const transports of [["polling"], ["polling", "websocket"]] as const) {
    const office = transports.join();
    const options = { transports: [...transports] };
    const agent = stack.use(
      await joinAgent(balancer.url, "planner", office, options),
    );
    for (let i = 0; i < 5; i++) {
      stack.use(await joinComputer(balancer.url, `pc${i}`, office, options));
      await heard(agent, `enter pc${i}`);
      const answer = await callTool(agent, "planner", `pc${i}`, { size: 9 });
      assertEquals(answer.content?.[0]?.text.length, 9);
    }
  }
});
