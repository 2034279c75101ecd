import { assert, assertEquals } from "@std/assert";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { peakMiBOf } from "../../../support/server/bounded_server.ts";
import { joinRaw, rawPair } from "../../../support/wire/raw_client.ts";
import {
  type ServerCommand,
  startServerCommand,
} from "../../../support/server/server_command.ts";
import { SlowClient } from "../../../support/wire/slow_client.ts";

const MEBIBYTE = 2 ** 20;
const COUNT = 300;

const request = (req_id: string, params = {}) => ({
  ...ANY_REQUEST,
  req_id,
  tool_name: "big",
  params,
  timeout: 60,
});

Deno.test({
  name:
    "300 answers of 1 MB for an agent that does not read leave the server's memory flat, and the agent is disconnected (protocol §10)",
  ignore: Deno.build.os !== "linux",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--log-level=warning",
    `--max-calls-per-agent=${COUNT}`,
    `--max-events-per-second=${2 * COUNT}`,
  ]);
  // The first round allocates memory for messages of this size and their garbage.
  await answerWithoutReader(command);
  const before = await peakMiBOf(command.pid);
  await answerWithoutReader(command);
  const grown = await peakMiBOf(command.pid) - before;
  assert(
    grown < 100,
    `the server's memory grew by ${Math.round(grown)} MiB`,
  );
  await using other = await rawPair(command.url);
  other.computer.handle(
    "client:tool_call",
    (_payload, ack) => ack({ ok: true }),
  );
  const answer = await other.agent.ask("client:tool_call", request("1"));
  assertEquals(answer, { ok: true });
});

Deno.test({
  name:
    "40 pending calls of 4 MB keep no requests in the server's memory (protocol §10)",
  ignore: Deno.build.os !== "linux",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--log-level=warning",
  ]);
  await using pair = await rawPair(command.url);
  const { agent, computer } = pair;
  const params = { text: "x".repeat(4 * MEBIBYTE) };
  // The first round allocates memory for messages of this size and their garbage.
  computer.handle("client:tool_call", (_payload, ack) => ack({ content: [] }));
  for (let i = 0; i < 40; i++) {
    await agent.ask("client:tool_call", request(`answered ${i}`, params));
  }
  const before = await peakMiBOf(command.pid);
  let heard = Promise.withResolvers<void>();
  computer.handle("client:tool_call", () => heard.resolve());
  for (let i = 0; i < 40; i++) {
    heard = Promise.withResolvers();
    void agent.ask("client:tool_call", request(`waiting ${i}`, params));
    await heard.promise;
  }
  const grown = await peakMiBOf(command.pid) - before;
  assert(
    grown < 80,
    `the server's memory grew by ${Math.round(grown)} MiB`,
  );
});

/** Calls as an agent without reading answers; resolves when the server has read all, and disconnected it. */
async function answerWithoutReader({ url }: ServerCommand): Promise<void> {
  await using computer = await joinRaw(url, "computer", "computer", "slow");
  const acks: ((answer: unknown) => void)[] = [];
  const all = Promise.withResolvers<void>();
  computer.handle("client:tool_call", (_payload, ack) => {
    if (acks.push(ack) === COUNT) all.resolve();
  });
  await using slow = await SlowClient.open(url);
  await slow.join("agent", "agent", "slow");
  slow.pause();
  for (let i = 0; i < COUNT; i++) {
    const event = ["client:tool_call", request(`${i}`)];
    slow.send(`42/smcp,${i + 1}${JSON.stringify(event)}`);
  }
  await all.promise;
  const answer = { content: [{ type: "text", text: "x".repeat(MEBIBYTE) }] };
  for (const ack of acks) ack(answer);
  await computer.next("notify:leave_office");
  // An answer after all those shows that the server has read them.
  await computer.request("notify:barrier");
  slow.resume();
  await slow.closed;
}
