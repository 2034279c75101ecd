import { assert, assertEquals } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { TOOL_CALL_EVENT } from "../../../protocol/mod.ts";
import { apiKeys, createSmcpServer } from "../../../server/mod.ts";
import { scriptedComputer } from "../../support/office.ts";
import { pollingEnds } from "../../support/wire/polling_ends.ts";
import { startProxy } from "../../support/proxy.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

const API_KEY = "restart-key-0123456789";
const DONE = { content: [{ type: "text", text: "done" }] };

/** An Agent or a Computer. */
interface Client {
  on(
    event: "joined",
    listener: (joined: { rejoined: boolean }) => void,
  ): () => void;
}

/** Resolves when a client has rejoined its office. */
const rejoined = (client: Client): Promise<void> =>
  new Promise((resolve) => {
    const off = client.on("joined", ({ rejoined }) => {
      if (!rejoined) return;
      off();
      resolve();
    });
  });

/** Returns the outcome of each call: `ok`, or the error's name. */
const ends = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((end) =>
    end.status === "fulfilled" ? "ok" : (end.reason as Error).name
  );

/** An Agent and a Computer in office "north"; the Computer answers calls of "slow" on demand. */
async function pair(url: string, transports: ("polling" | "websocket")[]) {
  const options = { transports, headers: { "x-api-key": API_KEY } };
  const held: (() => void)[] = [];
  const wake = new Set<() => void>();
  const computer = scriptedComputer({
    url,
    name: "laptop",
    script: (event, payload) => {
      if (event !== TOOL_CALL_EVENT) return { tools: [], req_id: "" };
      if ((payload as { tool_name: string }).tool_name !== "slow") return DONE;
      return new Promise((resolve) => {
        held.push(() => resolve(DONE));
        for (const each of wake) each();
      });
    },
    ...options,
  });
  const agent = new SmcpAgent({ url, name: "planner", ...options });
  await computer.connect();
  await computer.join("north");
  await agent.connect();
  await agent.join("north");
  return {
    agent,
    computer,
    /** Resolves when the Computer has a number of pending calls. */
    async holds(count: number) {
      while (held.length < count) {
        await new Promise<void>((resolve) => wake.add(resolve));
      }
    },
    /** Makes the Computer answer its pending calls. */
    release: () => held.splice(0).forEach((answer) => answer()),
    async [Symbol.asyncDispose]() {
      await agent.close();
      await computer.close();
    },
  };
}

for (const transports of [["websocket"], ["polling", "websocket"]] as const) {
  Deno.test(`restarts over ${transports}: pending calls finish, clients rejoin by themselves, every request is answered (spec §5, §9)`, async () => {
    await using _last = pollingEnds();
    const authenticator = apiKeys([{ id: "all", key: API_KEY }]);
    let server = createSmcpServer({ authenticator });
    await using proxy = await startProxy((await server.listen()).url);
    await using clients = await pair(proxy.url, [...transports]);
    const { agent, computer } = clients;
    for (let generation = 0; generation < 3; generation++) {
      const slow = Array.from(
        { length: 20 },
        () => agent.callTool("laptop", "slow", {}),
      );
      await clients.holds(slow.length);
      const back = Promise.all([rejoined(agent), rejoined(computer)]);
      const closing = server.close();
      const late = Array.from(
        { length: 20 },
        () => agent.callTool("laptop", "quick", {}),
      );
      const refused = await ends(late);
      clients.release();
      assertEquals(await ends(slow), slow.map(() => "ok"));
      await closing;
      for (const end of refused) {
        assert(["ProtocolError", "ConnectionError"].includes(end), end);
      }
      server = createSmcpServer({ authenticator });
      proxy.turnTo((await server.listen()).url);
      await back;
      await agent.callTool("laptop", "quick", {});
      assertEquals(server.stats.members, 2);
    }
    await server.close();
  });
}

Deno.test("a client whose auth function fails during a reconnect calls it again (spec §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using proxy = await startProxy(url);
  let asked = 0;
  await using agent = new SmcpAgent({
    url: proxy.url,
    name: "planner",
    transports: ["websocket"],
    auth: () => {
      if (++asked === 2) throw new Error("503 from the token endpoint");
      return {};
    },
  });
  await agent.connect();
  await agent.join("north");
  const back = rejoined(agent);
  await proxy.cut();
  await back;
  assertEquals([agent.state, asked], ["connected", 3]);
});

Deno.test({
  name:
    "rolling restart of the command: SIGTERM during a stream of calls, each of which ends; then the next process serves",
  timeout: 120_000,
}, async () => {
  const env = {
    SMCP_API_KEYS: JSON.stringify([{ id: "all", key: API_KEY }]),
  };
  await using first = await startServerCommand(["--port=0"], env);
  await using proxy = await startProxy(first.url);
  await using clients = await pair(proxy.url, ["websocket"]);
  const { agent, computer } = clients;
  const back = Promise.all([rejoined(agent), rejoined(computer)]);
  const calls: Promise<unknown>[] = [];
  let stopped = false;
  const gone = first.exited.then((code) => {
    stopped = true;
    return code;
  });
  first.kill("SIGTERM");
  while (!stopped && calls.length < 10_000) {
    const call = agent.callTool("laptop", "quick", {});
    calls.push(call);
    await call.catch(() => new Promise((resolve) => setTimeout(resolve, 0)));
  }
  assertEquals(await gone, 0);
  const outcomes = new Set(await ends(calls));
  outcomes.delete("ok");
  outcomes.delete("ProtocolError"); // "shutting down"
  outcomes.delete("ConnectionError"); // lost or offline
  assertEquals([...outcomes], []);
  await using second = await startServerCommand(["--port=0"], env);
  proxy.turnTo(second.url);
  await back;
  assertEquals((await agent.callTool("laptop", "quick", {})).content, [
    { type: "text", text: "done" },
  ]);
});
