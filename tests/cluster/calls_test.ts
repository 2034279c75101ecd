import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  LEAVE_OFFICE_EVENT,
  PROTOCOL_VERSION,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import { until } from "../support/cluster/programs.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  roomOf,
} from "../support/cluster/rig/members.ts";

const TIMEOUT_MS = 120_000;
const SIZES = [0, 100, 10_000, 100_000, 300_000, 1_000_000];

Deno.test({
  name:
    "calls pass between all nodes in both directions and sizes, and are heard by their office alone",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  await using stack = new AsyncDisposableStack();
  for (const [i, node] of cluster.nodes.entries()) {
    const agent = stack.use(await joinAgent(node.url, "planner", `o${i}`));
    for (const [j, other] of cluster.nodes.entries()) {
      const pc = stack.use(
        await joinComputer(other.url, `pc${j}`, `o${i}`),
      );
      await heard(agent, `enter pc${j}`);
      for (const size of SIZES) {
        const answer = await callTool(agent, "planner", `pc${j}`, { size });
        assertEquals(answer.content?.[0]?.text.length, size);
      }
      assertEquals(pc.called.length, SIZES.length);
    }
    assertEquals(await roomOf(agent, "planner", `o${i}`), [
      "agent planner",
      "computer pc0",
      "computer pc1",
      "computer pc2",
    ]);
    assertEquals(comings(agent), ["enter pc0", "enter pc1", "enter pc2"]);
    const far = await callTool(agent, "planner", "pc7");
    assertEquals(far.code, 404, "of no node");
  }
  await cluster.proved();
});

Deno.test({
  name: "parameters of 1 MB, and many calls at once, each with its own answer",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster({ nodes: 2 });
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  await using pc = await joinComputer(cluster.node(1).url, "pc", "o");
  await heard(agent, "enter pc");
  const big = { agent: "planner", computer: "pc", tool_name: "echo" };
  const text = "é".repeat(500_000);
  let seen = 0;
  pc.client.handle(TOOL_CALL_EVENT, (payload, ack) => {
    const { params } = payload as { params: { text?: string; n?: number } };
    seen = Math.max(seen, params.text?.length ?? 0);
    ack({ content: [{ type: "text", text: String(params.n) }] });
  });
  const ask = (n: number, params: object) =>
    agent.ask(TOOL_CALL_EVENT, {
      ...big,
      req_id: `r${n}`,
      params: { ...params, n },
      timeout: 60,
    }) as Promise<{ content: { text: string }[] }>;
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => ask(n, n % 50 === 0 ? { text } : {})),
  );
  assertEquals(
    answers.map(({ content }) => content[0]?.text),
    Array.from({ length: 200 }, (_, n) => String(n)),
  );
  assertEquals(seen, text.length);
  await cluster.proved();
});

Deno.test({
  name: "progress, a cancel and updates pass between nodes, in order",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster({ nodes: 2 });
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  await using pc = await joinComputer(cluster.node(1).url, "pc", "o");
  await heard(agent, "enter pc");
  const who = { agent: "planner", computer: "pc", req_id: "r1" };
  const answer = agent.ask(TOOL_CALL_EVENT, {
    ...who,
    tool_name: "echo",
    params: { hold: true },
    timeout: 60,
    progress: true,
  });
  await pc.arrived(1);
  for (const progress of [1, 2]) {
    const told = { ...who, progress, total: 3, message: "step" };
    await pc.client.request(TOOL_CALL_PROGRESS_EVENT, told);
    assertEquals(await agent.next(TOOL_CALL_PROGRESS_NOTIFICATION), told);
  }
  pc.client.socket.emit(UPDATE_TOOL_LIST_EVENT, { computer: "pc" });
  await agent.next("notify:update_tool_list");
  pc.client.socket.emit(UPDATE_DESKTOP_EVENT, { computer: "pc" });
  await agent.next("notify:update_desktop");

  agent.socket.emit(CANCEL_TOOL_CALL_EVENT, { agent: "planner", req_id: "r1" });
  assertEquals(await pc.client.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: "planner",
    req_id: "r1",
  });
  pc.release();
  await answer;

  // A cancel never overtakes its call, and comes before the next one.
  const order: string[] = [];
  pc.client.handle(
    TOOL_CALL_EVENT,
    (payload) => order.push((payload as { req_id: string }).req_id),
  );
  pc.client.handle(
    CANCEL_TOOL_CALL_NOTIFICATION,
    (payload) => order.push(`cancel ${(payload as { req_id: string }).req_id}`),
  );
  const ids = Array.from({ length: 50 }, (_, i) => `c${i}`);
  for (const req_id of ids) {
    void callTool(agent, "planner", "pc", { req_id });
    agent.socket.emit(CANCEL_TOOL_CALL_EVENT, { agent: "planner", req_id });
  }
  await until(() => Promise.resolve(order.length === 100));
  assertEquals(order, ids.flatMap((id) => [id, `cancel ${id}`]));
  await cluster.proved();
});

Deno.test({
  name: "members of different versions meet in one office, on different nodes",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster({
    nodes: 2,
    flags: ["--protocol", "0.2,0.4"],
  });
  const [a, b] = [cluster.node(0).url, cluster.node(1).url];
  await using agent = await joinAgent(a, "planner", "o");
  await using old = await joinComputer(b, "old", "o");
  await using young = await joinComputer(b, "young", "o", {
    version: "0.4.0",
  });
  await using far = await joinAgent(b, "far", "p", { version: "0.4.0" });
  await using near = await joinComputer(a, "near", "p");
  await Promise.all([heard(agent, "enter young"), heard(far, "enter near")]);
  assertEquals(PROTOCOL_VERSION.startsWith("0.2"), true);
  for (const name of ["old", "young"]) {
    assertEquals((await callTool(agent, "planner", name)).code, undefined);
  }
  assertEquals((await callTool(far, "far", "near")).code, undefined);
  assertEquals(
    [old, young, near].map(({ called }) => called.length),
    [1, 1, 1],
  );
  assertEquals(await roomOf(agent, "planner", "o"), [
    "agent planner",
    "computer old",
    "computer young",
  ]);
  const second = await askForSeat(
    { url: b, version: "0.4.0" },
    "agent",
    "second",
    "o",
  );
  assertEquals(second, { refusal: "Room already has an agent" });
  await cluster.proved();
});

Deno.test({
  name:
    "a Computer that moves from node to node is heard as leave, enter, every time",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  const moves = 30;
  for (let i = 0; i < moves; i++) {
    await using pc = await joinComputer(cluster.node(i % 3).url, "pc", "o");
    await heard(agent, "enter pc", i + 1);
    const { code } = await callTool(agent, "planner", "pc");
    assertEquals(code, undefined, `move ${i}`);
    await pc.client.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
  }
  await until(() => Promise.resolve(comings(agent).length === 2 * moves));
  assertEquals(
    comings(agent),
    Array.from({ length: moves }, () => ["enter pc", "leave pc"]).flat(),
  );
  await cluster.proved();
});
