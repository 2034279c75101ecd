import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  eventOf,
  PROFILES,
  SMCP_NAMESPACE,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import {
  joinRaw,
  type RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";

const CALL = "client:tool_call";
const CANCEL = "server:tool_call_cancel";
const CANCELLED = "notify:tool_call_cancel";
const LEFT = "notify:leave_office";

const REQUEST = {
  ...ANY_REQUEST,
  params: { deep: [{ a: null }], list: [] },
  later_field: { kept: [true] },
};

/** The events that the Server routes in 0.2. */
const ROUTED = Object.keys(CLIENT_EVENTS)
  .filter((event) => eventOf(PROFILES["0.2"], event) !== undefined);

type Ack = (...answer: unknown[]) => void;

/** Resolves with the acks of the next calls of a Computer. */
const acksOf = (computer: RawClient, count: number): Promise<Ack[]> =>
  new Promise((resolve) => {
    const acks: Ack[] = [];
    computer.handle(CALL, (_payload, ack) => {
      if (acks.push(ack) === count) resolve(acks);
    });
  });

const codeOf = (answer: unknown): unknown => Object(answer).code;

Deno.test("the server routes all client events, request and answer unchanged (protocol §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  assertEquals(ROUTED.length, 17);
  for (const event of ROUTED) {
    let seen: unknown;
    const answer = { content: [], event, nested: { list: [1, "2", null] } };
    pair.computer.handle(event, (payload, ack) => {
      seen = payload;
      ack(answer, "further arguments", { are: "dropped" });
    });
    assertEquals(await pair.agent.request(event, REQUEST), [answer]);
    assertEquals(seen, REQUEST);
  }
});

Deno.test("an agent that gives another name acts under the name of its seat; binary data passes both ways (protocol §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const bytes = new Uint8Array([1, 2, 250]);
  const seen: unknown[] = [];
  pair.computer.handle(CALL, (payload, ack) => {
    const { agent, params } = Object(payload);
    seen.push(agent, new Uint8Array(params.bytes));
    ack({ content: [], bytes });
  });
  const claim = { agent: "agent-7", req_id: "r1" };
  const request = { ...REQUEST, ...claim, params: { bytes } };
  const answer = Object(await pair.agent.ask(CALL, request));
  assertEquals([...seen, new Uint8Array(answer.bytes)], [
    "agent",
    bytes,
    bytes,
  ]);
  assertEquals(await pair.agent.request(CANCEL, claim), []);
  assertEquals(await pair.computer.next(CANCELLED), {
    ...claim,
    agent: "agent",
  });
});

Deno.test("the server answers 408 if a computer does not answer in time; its late answer is dropped (protocol §7)", async () => {
  await using server = createSmcpServer({ requestTimeoutMs: 50 });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const event = "client:get_tools";
  let late = () => {};
  pair.computer.handle(event, (_payload, ack) => {
    late = () => ack({ tools: ["late"] });
  });
  assertEquals(codeOf(await pair.agent.ask(event, REQUEST)), 408);
  late();
  pair.computer.handle(event, (_payload, ack) => ack({ tools: [] }));
  let answer: unknown;
  do answer = await pair.agent.ask(event, REQUEST); while (
    codeOf(answer) === 408 // on a busy machine, the answer in time may be late, too
  );
  assertEquals(answer, { tools: [] });
});

Deno.test("a cancel overtakes the call that it cancels, and goes to the whole office, including the caller (protocol §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using other = await joinRaw(url, "computer", "other", "office");
  const { agent, computer } = pair;
  const acks = acksOf(computer, 1);
  const call = agent.ask(CALL, REQUEST);
  const [answer] = await acks;
  const cancel = { agent: "agent", req_id: "r1" };
  assertEquals(await agent.request(CANCEL, { ...cancel, more: 1 }), []);
  for (const member of [agent, computer, other]) {
    assertEquals(await member.next(CANCELLED), cancel);
  }
  answer?.({ content: [], isError: true });
  assertEquals(await call, { content: [], isError: true });
});

Deno.test("a cancel that an agent sent just before it disconnected is delivered (protocol §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "computer", "office");
  for (let round = 0; round < 20; round++) {
    await using agent = await joinRaw(url, "agent", "agent", "office");
    agent.socket.emit(CANCEL, { agent: "agent", req_id: "r1" });
    agent.socket.disconnect();
    await computer.next("notify:enter_office");
    await computer.heardOf(LEFT);
    const heard = computer.heard.splice(0).map(({ event }) => event);
    assertEquals(heard, [CANCELLED, LEFT]);
  }
});

const SECRET = { content: [{ type: "text", text: "of office A" }] };
const RIGHT = { content: [{ type: "text", text: "of office B" }] };

const callAs = (
  agent: RawClient,
  name: string,
  req_id: string,
  computer = "computer",
) => agent.ask(CALL, { ...ANY_REQUEST, agent: name, req_id, computer });

for (const transport of ["polling", "websocket"] as const) {
  for (const loss of ["its namespace", "its connection"]) {
    Deno.test(`a stock client that lost ${loss} over ${transport} and joins office B does not answer its calls with office A's late result`, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen();
      await using a = await joinRaw(url, "agent", "a", "A");
      await using b = await joinRaw(url, "agent", "b", "B");
      const options = { url, transports: [transport], reconnection: true };
      await using computer = await joinRaw(
        options,
        "computer",
        "computer",
        "A",
      );
      const late = acksOf(computer, 3);
      const lost = [0, 1, 2].map((i) => callAs(a, "a", `${i}`));
      const stale = await late;

      const back = new Promise<void>((resolve) =>
        computer.socket.once("connect", resolve)
      );
      if (loss === "its connection") computer.socket.io.engine.close();
      else computer.socket.disconnect().connect();
      await back;
      const ends = (await Promise.all(lost)).map((answer) => [
        codeOf(answer),
        Object(answer).reason,
      ]);
      assertEquals(ends, Array(3).fill([404, "computer disconnected"]));
      await computer.join("computer", "computer", "B");

      const fresh = acksOf(computer, 3);
      const calls = [0, 1, 2].map((i) => callAs(b, "b", `${i}`));
      const acks = await fresh;
      for (const ack of stale) ack(SECRET);
      for (const ack of acks) ack(RIGHT);
      assertEquals(await Promise.all(calls), [RIGHT, RIGHT, RIGHT]);
    });
  }
}

Deno.test("all requests of the Server have different ack ids, on any connection, and the first is unpredictable", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using a = await joinRaw(url, "agent", "a", "A");
  await using b = await joinRaw(url, "agent", "b", "B");
  const ids: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (let round = 0; round < 6; round++) {
    const [agent, by, office_id] = round % 2 ? [a, "a", "A"] : [b, "b", "B"];
    // The seat of the round before may still be taken.
    const seat = { role: "computer", name: `pc ${round}`, office_id };
    await using raw = await RawFrames.open(url, SMCP_NAMESPACE);
    raw.send(`42/smcp,0${JSON.stringify(["server:join_office", seat])}`);
    await raw.frame("43/smcp,0[true");
    for (let call = 0; call < 3; call++) {
      calls.push(callAs(agent, by, `${round}${call}`, seat.name));
      let id: string | undefined;
      while (id === undefined) { // else the Computer before has left
        const frame = await raw.frame("42/smcp,");
        id = /^42\/smcp,(\d+)\["client:tool_call"/.exec(frame)?.[1];
      }
      ids.push(Number(id));
    }
  }
  await Promise.all(calls);
  assertEquals(new Set(ids).size, 18);
  assert(Math.min(...ids) > 1000, `ids begin at ${Math.min(...ids)}`);
  assert(Math.max(...ids) < 2 ** 31);
});
