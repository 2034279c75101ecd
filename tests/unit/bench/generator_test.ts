import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
} from "@std/assert";
import { Groups } from "../../../bench/contestants/groups.ts";
import type { Target } from "../../../bench/contestants/running.ts";
import { Generator } from "../../../bench/generator.ts";
import { Messages } from "../../../bench/messages.ts";
import { NO_COMPILER } from "./compiler.ts";
import { payloadOf } from "../../../bench/payloads.ts";

const OPTIONS = {
  name: "",
  ignore: NO_COMPILER,
  timeout: 120_000,
};

/** A bare relay in this process with a port for Agents and one for Computers; `change` may spoil what it passes on. */
function startRelay(
  change: (data: string) => string,
): Target & AsyncDisposable {
  const groups = new Groups<WebSocket>();
  const listen = () =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (
      request,
    ) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      const group = groups.enter(request.url, socket);
      socket.onmessage = ({ data }) => {
        for (const other of group) {
          if (other !== socket && other.readyState === WebSocket.OPEN) {
            other.send(change(data));
          }
        }
      };
      socket.onerror = () => {};
      return response;
    });
  const [agents, computers] = [listen(), listen()];
  return {
    name: "relay",
    agentPorts: [agents.addr.port],
    computerPorts: [computers.addr.port],
    processes: { relay: Deno.pid, parent: Deno.ppid },
    raw: true,
    reencodes: false,
    log: () => "",
    async [Symbol.asyncDispose]() {
      await Promise.all([agents.shutdown(), computers.shutdown()]);
    },
  };
}

let folder = "";
let generator: Generator | undefined;

Deno.test.beforeAll(async () => {
  folder = await Deno.makeTempDir();
  if (!NO_COMPILER) generator = await Generator.build(folder);
});
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

async function measure(
  size: string,
  change: (data: string) => string,
  { params = 10, ...options }: Record<string, number> = {},
) {
  assert(generator);
  const files = await new Messages(folder).filesOf(payloadOf(size), params);
  const load = { pairs: 3, warmup: 0, seconds: 2, ...options };
  while (true) {
    await using relay = startRelay(change);
    try {
      return await generator.run("calls", relay, { ...load, ...files });
    } catch (error) {
      // The machine stalled for that long.
      if (!String(error).includes("No call was answered in the time")) {
        throw error;
      }
    }
  }
}

for (const size of ["100", "10k", "1m", "1m-text"]) {
  Deno.test({
    ...OPTIONS,
    name: `the load generator's frames are those of WebSockets: ${size}`,
    async fn() {
      let first = "";
      const found = await measure(size, (data) => {
        if (data.startsWith("43")) first ||= data;
        return data;
      });
      assert(found.calls > 0);
      assert(found.p50 <= found.p90 && found.p90 <= found.p99);
      const [result] = JSON.parse(first.slice(first.indexOf("[")));
      const bytes = new TextEncoder().encode(JSON.stringify([result])).length;
      assertEquals(bytes, payloadOf(size).bytes);
    },
  });
}

Deno.test({
  ...OPTIONS,
  name: "the load generator makes calls with large parameters",
  async fn() {
    let longest = 0;
    await measure("100", (data) => {
      longest = Math.max(longest, data.length);
      return data;
    }, { params: 1e5 });
    assert(longest > 1e5 && longest < 1.01e5);
  },
});

Deno.test({
  ...OPTIONS,
  name: "the load generator makes as many calls as it is told to",
  async fn() {
    const { calls } = await measure("100", (data) => data, { rate: 50 });
    assert(calls > 0 && calls <= 101, `${calls} calls`);
  },
});

Deno.test({
  ...OPTIONS,
  name: "the load generator counts the first seconds apart",
  async fn() {
    const load = { rate: 50, warmup: 1, seconds: 2 };
    const { calls, first, ...warm } = await measure(
      "100",
      (data) => data,
      load,
    );
    assert(first);
    assert(first.calls > 0 && first.calls <= 51, `${first.calls} calls`);
    assert(calls > 0 && calls <= 101, `${calls} calls`);
    assert(first.serverCpuSeconds > 0 && first.seconds < warm.seconds);
    assert(first.p50 <= first.p99);
    const cold = await measure("100", (data) => data, { warmup: 0 });
    assertEquals(cold.first, undefined);
  },
});

Deno.test({
  ...OPTIONS,
  name: "the load generator tells what each process used for idle members",
  async fn() {
    assert(generator);
    await using relay = startRelay((data) => data);
    const options = { steps: "4,8", seconds: 0.1, watched: 0.2 };
    const { steps, watched } = await generator.run("idle", relay, options);
    assertEquals(steps.map(({ joined }) => joined), [2, 4]);
    assert(watched);
    assertEquals(watched.members, 8);
    for (const used of [...steps, watched]) {
      const { processes: { relay, parent }, ...all } = used;
      assert(relay && parent);
      const sum = relay.cpuSeconds + parent.cpuSeconds;
      assertAlmostEquals(all.serverCpuSeconds, sum, 1e-5);
      assert(relay.rssBytes > 0 && parent.rssBytes > 0);
    }
  },
});

const FAULTS: Record<string, (data: string) => string> = {
  "has one other letter": (data) => data.replace("isError", "isErrol"),
  "is too short": (data) => data.startsWith("43") ? data.slice(0, -1) : data,
  "has another id": (data) => data.replace(/"text":"\d{3}/, '"text":"999'),
  "is none": (data) => data.startsWith("43") ? "42/smcp,[]" : data,
};

for (const [fault, change] of Object.entries(FAULTS)) {
  Deno.test({
    ...OPTIONS,
    name: `the load generator fails over an answer that ${fault}`,
    async fn() {
      await assertRejects(
        () => measure("10k", change),
        Error,
        "Cannot use the run of relay",
      );
    },
  });
}
