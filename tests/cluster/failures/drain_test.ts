import { assert, assertEquals } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { startCluster } from "../../support/cluster/rig/cluster.ts";
import {
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import { scriptedComputer } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

Deno.test({
  name:
    "a node that is told to end finishes the calls to its Computers, and leaves no seat behind",
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster();
  const [a, b] = [cluster.node(0), cluster.node(1)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await using other = await joinAgent(b.url, "other", "p");
  await using pc = await joinComputer(a.url, "pc", "p");
  await Promise.all([heard(agent, "enter far"), heard(other, "enter pc")]);
  const calls = [
    callTool(agent, "planner", "far", { hold: true }),
    callTool(other, "other", "pc", { hold: true }),
  ];
  await Promise.all([far.arrived(1), pc.arrived(1)]);
  const gone = b.drain();
  await until(async () => {
    const ready = await fetch(`${b.url}/ready`);
    await ready.body?.cancel();
    return ready.status === 503;
  });
  far.release();
  pc.release();
  for (const { code } of await Promise.all(calls)) {
    assertEquals(code, undefined);
  }
  assertEquals(await gone, 0);
  await until(() => Promise.resolve(comings(agent).length === 2));
  assertEquals(comings(agent), ["enter far", "leave far"]);
  await until(() => Promise.resolve(comings(pc.client).length === 1));
  assertEquals(comings(pc.client), ["leave other"]);
  await cluster.proved();
});

Deno.test({
  name:
    "a rolling deploy: one node after the other is replaced while an Agent calls, and every call is answered",
  timeout: 240_000,
}, async () => {
  await using cluster = await startCluster();
  // A balancer's view: addresses that stay, behind which nodes change.
  await using stack = new AsyncDisposableStack();
  const slots = await Promise.all(
    cluster.nodes.map(async ({ url }) => stack.use(await startProxy(url))),
  );
  const url = (i: number) => slots[i % 3]?.url ?? "";
  const computers = await Promise.all(
    ["pc0", "pc1", "pc2"].map(async (name, i) => {
      const computer = stack.use(
        scriptedComputer({
          url: url(i),
          name,
          script: (event) =>
            event === "client:get_tools"
              ? { req_id: "t", tools: [] }
              : { content: [{ type: "text", text: name }] },
        }),
      );
      await computer.connect();
      await computer.join("o");
      return name;
    }),
  );
  const agent = stack.use(
    new SmcpAgent({ url: url(0), name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join("o");
  let isOver = false;
  let answered = 0;
  const failures: string[] = [];
  const calling = computers.map(async (name) => {
    while (!isOver) {
      try {
        const { content } = await agent.callTool(name, "echo");
        assertEquals(content[0]?.text, name);
        answered++;
      } catch (error) {
        failures.push(String(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  for (const [i, slot] of slots.entries()) {
    const old = cluster.node(i);
    const next = await cluster.add();
    slot.turnTo(next.url);
    assertEquals(await old.drain(), 0);
    const before = answered;
    await until(() => Promise.resolve(answered > before + 20));
  }
  isOver = true;
  await Promise.all(calling);
  assert(answered > 60, `${answered} calls`);
  // A Computer that is between two nodes is not there: its calls are told so, none waits in vain.
  for (const failure of failures) {
    assert(
      /left before|not in your office|cannot be reached now|shutting down|connection was lost|cluster/i
        .test(failure),
      failure,
    );
  }
  await cluster.proved();
});
