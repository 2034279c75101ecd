import { assert, assertEquals } from "@std/assert";
import {
  JOIN_OFFICE_EVENT,
  SMCP_NAMESPACE,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { joinRaw, type RawClient } from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";

type Ack = (answer: unknown) => void;

const SECRET = { content: [{ type: "text", text: "of office A" }] };
const RIGHT = { content: [{ type: "text", text: "of office B" }] };

/** Resolves with the acks of the next `count` calls of a Computer. */
const acksOf = (computer: RawClient, count: number): Promise<Ack[]> =>
  new Promise((resolve) => {
    const acks: Ack[] = [];
    computer.handle(TOOL_CALL_EVENT, (_payload, ack) => {
      if (acks.push(ack) === count) resolve(acks);
    });
  });

const callAs = (
  agent: RawClient,
  name: string,
  req_id: string,
  computer: string = ANY_REQUEST.computer,
) =>
  agent.ask(TOOL_CALL_EVENT, {
    ...ANY_REQUEST,
    agent: name,
    req_id,
    computer,
  });

for (const transport of ["polling", "websocket"] as const) {
  for (const loss of ["its namespace", "its connection"]) {
    Deno.test(`a stock client that lost ${loss} over ${transport} and joins office B does not answer its calls with office A's late result`, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen();
      const transports = [transport];
      await using a = await joinRaw(url, "agent", "a", "A");
      await using b = await joinRaw(url, "agent", "b", "B");
      await using computer = await joinRaw(
        { url, transports, reconnection: true },
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
      assertEquals((await Promise.all(lost)).map(codeOf), [404, 404, 404]);
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

/** Opens a raw Computer in an office; gives the frame reader behind its join. */
async function rawComputer(
  url: string,
  office_id: string,
  name: string,
): Promise<RawFrames> {
  const raw = await RawFrames.open(url, SMCP_NAMESPACE);
  const seat = { role: "computer", name, office_id };
  raw.send(
    `42${SMCP_NAMESPACE},0${JSON.stringify([JOIN_OFFICE_EVENT, seat])}`,
  );
  await raw.frame(`43${SMCP_NAMESPACE},0[true`);
  return raw;
}

const nextId = async (raw: RawFrames): Promise<number> => {
  for (;;) {
    const frame = await raw.frame(`42${SMCP_NAMESPACE},`);
    const [, id] = /^42\/smcp,(\d+)\["client:tool_call"/.exec(frame) ?? [];
    if (id !== undefined) return Number(id); // else the Computer before has left
  }
};

Deno.test("all requests of the Server have different ack ids, on any connection, and the first is unpredictable", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using a = await joinRaw(url, "agent", "a", "A");
  await using b = await joinRaw(url, "agent", "b", "B");
  const ids: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (let round = 0; round < 3; round++) {
    // The seat of the round before may still be taken.
    const name = `computer ${round}`;
    await using first = await rawComputer(url, "A", name);
    await using second = await rawComputer(url, "B", name);
    for (const [agent, raw] of [["a", first], ["b", second]] as const) {
      for (let call = 0; call < 3; call++) {
        calls.push(
          callAs(agent === "a" ? a : b, agent, `${round}${call}`, name),
        );
        ids.push(await nextId(raw));
      }
    }
  }
  await Promise.all(calls);
  assertEquals(new Set(ids).size, 18);
  assert(Math.min(...ids) > 1000, `ids begin at ${Math.min(...ids)}`);
  assert(Math.max(...ids) < 2 ** 31);
});

const codeOf = (answer: unknown): unknown =>
  typeof answer === "object" && answer !== null && "code" in answer
    ? answer.code
    : undefined;
