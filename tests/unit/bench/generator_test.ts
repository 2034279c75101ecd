import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { ROOT, type Target } from "../../../bench/contestants/start.ts";
import { Generator, type Load } from "../../../bench/generator.ts";
import {
  answerOf,
  ID_PLACE,
  payloadOf,
  PAYLOADS,
} from "../../../bench/payloads.ts";
import { parseCallToolResult } from "../../../protocol/mod.ts";

/** Whether this machine lacks what builds the load generator. */
const NO_COMPILER: boolean = Deno.build.os !== "linux" ||
  await new Deno.Command("cc", { args: ["--version"] }).output()
    .then(({ success }) => !success, () => true);

const testCompiled = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, ignore: NO_COMPILER, timeout: 120_000, fn });

/** A bare relay in this process with a port for Agents and one for Computers; `change` may spoil what it passes on. */
function startRelay(
  change: (data: string) => string,
): Target & AsyncDisposable {
  const groups = new Map<string | null, WebSocket[]>();
  const listen = () =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (
      request,
    ) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      const name = new URL(request.url).searchParams.get("group");
      const group = groups.get(name) ?? [];
      groups.set(name, group);
      group.push(socket);
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
  const agents = listen();
  const computers = listen();
  return {
    name: "relay",
    agentPort: agents.addr.port,
    computerPort: computers.addr.port,
    processes: { relay: Deno.pid, parent: Deno.ppid },
    raw: true,
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
  options: Partial<Load> = {},
  change = (data: string) => data,
) {
  assert(generator);
  const load: Load = {
    payload: payloadOf(size),
    pairs: 3,
    inflight: 1,
    rotate: false,
    rate: 0,
    warmup: 0,
    seconds: 2,
    ...options,
  };
  while (true) {
    await using relay = startRelay(change);
    try {
      return await generator.run(relay, load);
    } catch (error) {
      // The machine stalled for that long.
      if (!String(error).includes("No call was answered in the time")) {
        throw error;
      }
    }
  }
}

testCompiled(
  "the load generator's frames are those of WebSockets",
  async () => {
    for (const size of ["100", "10k", "1m"]) {
      let first = "";
      const found = await measure(size, {}, (data) => {
        if (data.startsWith("43")) first ||= data;
        return data;
      });
      assert(found.calls > 0);
      assert(found.p50 <= found.p99);
      const [result] = JSON.parse(first.slice(first.indexOf("[")));
      assertEquals(bytesOf(JSON.stringify([result])), payloadOf(size).bytes);
    }
  },
);

testCompiled(
  "the load generator makes no more calls than its rate, and counts the first seconds apart",
  async () => {
    let began = performance.now();
    // On a busy machine, late answers to the first calls count in the seconds after them.
    const most = () => 50 * (performance.now() - began) / 1000 + 1;
    const load = { rate: 50, warmup: 1, seconds: 2 };
    const { calls, first, ...warm } = await measure("100", load);
    assert(first);
    assert(first.calls > 0 && calls > 0);
    assert(first.calls + calls <= most(), `${first.calls} + ${calls} calls`);
    assert(first.serverCpuSeconds > 0 && first.seconds < warm.seconds);
    assert(first.p50 <= first.p99);
    began = performance.now();
    const cold = await measure("100", { rate: 50 });
    assertEquals(cold.first, undefined);
    assert(cold.calls > 0 && cold.calls <= most(), `${cold.calls} calls`);
  },
);

testCompiled(
  "the load generator counts apart what each process used, with calls that rotate",
  async () => {
    const all = await measure("100", { pairs: 4, inflight: 2, rotate: true });
    assert(all.calls > 0);
    const { relay = 0, parent = 0 } = all.cpuSeconds;
    assertAlmostEquals(all.serverCpuSeconds, relay + parent, 1e-5);
    assert(relay > 0);
  },
);

testCompiled(
  "the load generator fails over an answer with another letter or id, that is too short, or none",
  async () => {
    const faults: readonly ((data: string) => string)[] = [
      (data) => data.replace("isError", "isErrol"),
      (data) => data.startsWith("43") ? data.slice(0, -1) : data,
      (data) => data.replace(/"text":"\d{3}/, '"text":"999'),
      (data) => data.startsWith("43") ? "42/smcp,[]" : data,
    ];
    for (const change of faults) {
      await assertRejects(
        () => measure("10k", {}, change),
        Error,
        "Cannot use the run of relay",
        String(change),
      );
    }
  },
);

/** Runs the benchmark to its end, in a process of its own: V8 counts for all of one. */
async function bench(...args: string[]) {
  const main = new URL("../../../bench/main.ts", import.meta.url);
  const { code, ...output } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", fileURLToPath(main), ...args],
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assertEquals(code, 0, decode(output.stderr));
  return decode(output.stdout);
}

testCompiled("bench against compares two checkouts", async () => {
  const load = "--sizes=100 --pairs=2 --rounds=1 --warmup=0.1 --seconds=0.2";
  const stdout = await bench("against", ROOT, ...load.split(" "));
  assertMatch(stdout, /^100 B +2 × 1 +theirs +\d/m);
  assertMatch(stdout, /^100 B +2 × 1 +this package, Deno +\d/m);
  const line =
    /^100 B, CPU of a call \/ the other's: median \d\.\d{3}, .* of 1 rounds$/m;
  assertMatch(stdout, line);
});

Deno.test({
  name:
    "bench call-path counts the files and functions of a call in every role",
  timeout: 120_000,
}, async () => {
  const table = await bench("call-path", "--files");
  for (const role of ["agent", "client", "computer", "protocol", "server"]) {
    assertMatch(table, RegExp(`^${role} +[1-9]`, "m"));
  }
  // Where a call begins, is passed on, and is answered.
  const files = [
    "agent/agent",
    "server/wire/link",
    "computer/tools/tool_calls",
  ];
  for (const file of files) {
    assertMatch(table, RegExp(`^${file}\\.ts +1 +[1-9]`, "m"));
  }
});

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

Deno.test("answerOf() makes answers of exactly their size, with one place for the id", () => {
  for (const payload of PAYLOADS) {
    const answer = answerOf(payload);
    assertEquals(bytesOf(answer), payload.bytes, payload.name);
    assertEquals(answer.split(ID_PLACE).length, 2, payload.name);
    const [result, ...rest] = JSON.parse(answer);
    assertEquals(rest, []);
    assertEquals(parseCallToolResult(result).isError, false);
    // It encodes to the same bytes again.
    assertEquals(JSON.stringify(JSON.parse(answer)), answer, payload.name);
  }
});

Deno.test("answerOf() has one text, or many values", () => {
  const [{ structuredContent }] = JSON.parse(answerOf(payloadOf("100k-json")));
  assertEquals(structuredContent.rows.length > 900, true);
});

Deno.test("payloadOf() names the known sizes", () => {
  assertEquals(payloadOf("10k").bytes, 10_000);
  assertThrows(() => payloadOf("10"), RangeError, 'Unknown size "10"');
});
