import { assertEquals } from "@std/assert";
import {
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT as PROGRESS,
  TOOL_CALL_PROGRESS_NOTIFICATION as NOTIFICATION,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import {
  joinRaw,
  type RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";

const CALL = { ...ANY_REQUEST, progress: true };
const TOLD = {
  computer: "computer",
  agent: "agent",
  req_id: "r1",
  progress: 1,
  total: 3,
  message: "step",
};

const OFFICE = "office";

const codeOf = (answer: unknown) => (answer as { code?: unknown })?.code;

/** The progress that a client heard. */
const heardBy = ({ heard }: RawClient) =>
  heard.filter(({ event }) => event === NOTIFICATION)
    .map(({ payload }) => payload);

/** Makes a call that stays open; resolves when its Computer has it. */
function openCall({ agent, computer }: {
  agent: RawClient;
  computer: RawClient;
}, request: object = CALL) {
  return new Promise<{ end: () => void; answer: Promise<unknown> }>(
    (resolve) => {
      const answer = agent.ask(TOOL_CALL_EVENT, request);
      computer.handle(
        TOOL_CALL_EVENT,
        (_, ack) => resolve({ end: () => ack({ content: [] }), answer }),
      );
    },
  );
}

Deno.test("progress goes from the Computer of a call to its Agent alone, with the fields that it may have (spec §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using other = await joinRaw(url, "computer", "other", OFFICE);
  const call = await openCall(pair);
  const answer = await pair.computer.request(PROGRESS, { ...TOLD, later: 1 });
  assertEquals(answer, [], "an ack that was asked for is empty");
  pair.computer.socket.emit(PROGRESS, { ...TOLD, progress: 2 });
  call.end();
  await call.answer;
  assertEquals(heardBy(pair.agent), [TOLD, { ...TOLD, progress: 2 }]);
  await other.request("notify:barrier");
  assertEquals([heardBy(other), heardBy(pair.computer)], [[], []]);
});

Deno.test("progress of a call that ended, is another's, or did not ask is dropped (spec §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using other = await joinRaw(url, "computer", "other", OFFICE);
  await using far = await joinRaw(url, "computer", "computer", "elsewhere");
  await using farAgent = await joinRaw(url, "agent", "agent", "elsewhere");
  const call = await openCall(pair);
  const rows: [RawClient, object][] = [
    [other, { ...TOLD, computer: "other" }],
    [far, TOLD],
    [pair.computer, { ...TOLD, req_id: "r2" }],
    [pair.computer, { ...TOLD, agent: "somebody" }],
  ];
  for (const [client, payload] of rows) {
    assertEquals(await client.request(PROGRESS, payload), []);
  }
  call.end();
  await call.answer;
  assertEquals(await pair.computer.request(PROGRESS, TOLD), []);
  for (const progress of [undefined, false, 1, "true", null]) {
    const request = { ...CALL, req_id: `p${progress}`, progress };
    const silent = await openCall(pair, request);
    const told = { ...TOLD, req_id: request.req_id };
    assertEquals(await pair.computer.request(PROGRESS, told), []);
    silent.end();
    assertEquals(await silent.answer, { content: [] });
  }
  await pair.agent.request("notify:barrier");
  await farAgent.request("notify:barrier");
  assertEquals([heardBy(pair.agent), heardBy(farAgent)], [[], []]);
});

Deno.test("progress is checked in the order payload, member, role, computer (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const call = await openCall(pair);
  const rows: [RawClient, object, number][] = [
    [pair.computer, { ...TOLD, progress: "1" }, 400],
    [pair.computer, { ...TOLD, message: "x".repeat(1001) }, 400],
    [pair.agent, TOLD, 403],
    [pair.computer, { ...TOLD, computer: "other" }, 403],
  ];
  for (const [client, payload, code] of rows) {
    assertEquals(codeOf(await client.ask(PROGRESS, payload)), code);
  }
  call.end();
  await call.answer;
  assertEquals(heardBy(pair.agent), []);
});

Deno.test("a Computer that floods with progress is heard less, and keeps its session and its calls", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 20 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const call = await openCall(pair);
  for (let progress = 0; progress < 500; progress++) {
    pair.computer.socket.emit(PROGRESS, { ...TOLD, progress });
  }
  call.end();
  assertEquals(await call.answer, { content: [] });
  assertEquals(pair.computer.socket.connected, true);
  assertEquals(heardBy(pair.agent).length < 100, true);
});

Deno.test("a server of profile 0.1 does not know progress: calls that ask for it are unharmed (spec §12)", async () => {
  await using server = createSmcpServer({ protocol: "0.1" });
  const { url } = await server.listen();
  const old = { version: null };
  await using agent = await joinRaw({ url, ...old }, "agent", "agent", OFFICE);
  await using computer = await joinRaw(
    { url, ...old },
    "computer",
    "computer",
    OFFICE,
  );
  const pair = { agent, computer };
  const call = await openCall(pair);
  pair.computer.socket.emit(PROGRESS, TOLD);
  assertEquals(codeOf(await pair.computer.ask(PROGRESS, TOLD)), 400);
  call.end();
  assertEquals(await call.answer, { content: [] });
  assertEquals(heardBy(pair.agent), []);
});
