import { assert, assertEquals } from "@std/assert";
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import * as approvals from "../../../computer/approvals/approvals.ts";
import { ToolHost } from "../../../computer/mod.ts";
import type { Confirm } from "../../../computer/tools/confirm.ts";
import { firstAnswer } from "../../../computer/tools/first_answer.ts";
import type { AskedQuestion } from "../../../shared/approvals/device.ts";
import type { OptionId } from "../../../shared/approvals/question.ts";
import { forEachConcurrent } from "../../../shared/async.ts";
import {
  ALL_DICE,
  type Dice,
  LyingRelay,
} from "../../support/approvals/relay.ts";
import { Side } from "../../support/approvals/side.ts";
import { TappingPerson } from "../../support/approvals/tapping.ts";

/** An MCP server that remembers with what its tool ran. */
function paying(ran: number[]) {
  const server = new Server({ name: "bank", version: "1" }, {
    capabilities: { tools: {} },
  });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: "pay", inputSchema: { type: "object" } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    ran.push(Number(params.arguments?.n));
    return { content: [] };
  });
  return server;
}

/** What people allow and refuse, by the number in the arguments that they are shown. */
class Wishes {
  readonly allowed = new Set<number>();
  readonly refused = new Set<number>();

  /** Decides by an even or odd number, which differs between two people. */
  decide(n: number, isYes: boolean): OptionId {
    (isYes ? this.allowed : this.refused).add(n);
    return isYes ? "once" : "no";
  }
}

/** Calls a tool a number of times, with two phones behind a relay, and a terminal that answers every fifth call. */
async function race(calls: number, dice: Dice) {
  await using side = await Side.open(approvals);
  const relay = new LyingRelay(
    (message) => side.approvals.handle(message),
    dice,
  );
  const wishes = new Wishes();
  const people = [];
  for (const label of ["Pixel", "Tablet"]) {
    const decide = ({ question }: AskedQuestion) => {
      const { n } = JSON.parse(question).arguments;
      return wishes.decide(n, n % 3 !== 0);
    };
    const phone = await side.pair(label);
    people.push(new TappingPerson(phone, relay.send, decide));
  }
  const typing: Confirm = ({ params }, signal) =>
    new Promise((resolve) => {
      const n = Number(params.n);
      // Someone who sits there now and then; else only the phones answer, and the question is withdrawn.
      if (n % 5 === 0) {
        queueMicrotask(() => resolve(wishes.decide(n, n % 2 === 0)));
      }
      signal.addEventListener("abort", () => resolve("no"));
    });
  const ran: number[] = [];
  const running = people.map((person) => person.run());
  const numbers = Array.from({ length: calls }, (_, n) => n);
  const ends: boolean[] = [];
  // Each at a host of its own: one whose person refuses again and again asks no more.
  await forEachConcurrent(numbers, 8, async (n) => {
    await using host = new ToolHost({
      servers: { bank: { type: "in-process", server: paying(ran) } },
      confirm: firstAnswer(side.approvals.confirm, typing),
    });
    await host.start();
    const options = { agent: "planner", timeoutMs: 10_000 };
    const { isError } = await host.callTool("pay", { n }, options);
    ends[n] = isError !== true;
  });
  people.forEach((person) => person.stop());
  await Promise.all(running);
  return { ran, ends, wishes, relay };
}

/** As many as `deno task test:approvals:long` has: beside other suites, 300 take minutes. */
const CALLS = Deno.env.get("SMCP_APPROVALS_LONG") === "1" ? 300 : 60;

Deno.test(`${CALLS} calls with two phones and a terminal behind a Server that lies: nothing runs without a yes, and nothing hangs`, async () => {
  const { ran, ends, wishes, relay } = await race(CALLS, ALL_DICE);
  assertEquals(ends.length, CALLS);
  assertEquals(ran.length, new Set(ran).size, "each ran once at most");
  for (const n of ran) assert(wishes.allowed.has(n), `${n} was not allowed`);
  assertEquals(
    ran.toSorted((a, b) => a - b),
    ends.flatMap((isDone, n) => isDone ? [n] : []),
  );
  // What only people refused ran nowhere, and most that they allowed did.
  const only = [...wishes.refused].filter((n) => !wishes.allowed.has(n));
  assert(only.every((n) => !ran.includes(n)));
  assert(ran.length > CALLS / 3, `${ran.length} ran`);
  for (const deed of Object.keys(ALL_DICE)) {
    assert(relay.done[deed as keyof Dice], `the relay never did: ${deed}`);
  }
});

Deno.test("threat 16: a Server that drops everything gets no call to run, and each call ends", async () => {
  await using side = await Side.open(approvals);
  await side.pair();
  const ran: number[] = [];
  await using host = new ToolHost({
    servers: { bank: { type: "in-process", server: paying(ran) } },
    confirm: side.approvals.confirm,
  });
  await host.start();
  const options = { agent: "planner", timeoutMs: 1_000 };
  const result = await host.callTool("pay", { n: 1 }, options);
  assertEquals(result.isError, true);
  assertEquals(ran, []);
});

Deno.test("threat 1: a tool runs with the very arguments of the question's text", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const ran: unknown[] = [];
  const server = paying([]);
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    ran.push(params.arguments);
    return { content: [] };
  });
  await using host = new ToolHost({
    servers: { bank: { type: "in-process", server } },
    confirm: side.approvals.confirm,
  });
  await host.start();
  const shown: unknown[] = [];
  const person = new TappingPerson(phone, side.send, ({ question }) => {
    shown.push(JSON.parse(question).arguments);
    return "once";
  });
  const running = person.run();
  const all = [
    { text: "\ud800 \u202e é \u0000", n: 1e21, deep: [{ a: null }, [], ""] },
    JSON.parse('{"constructor": 2, "2": 1, "1": 2}'),
    {},
  ];
  for (const params of all) {
    const options = { agent: "planner" };
    const { isError } = await host.callTool("pay", params, options);
    assertEquals(isError ?? false, false);
  }
  person.stop();
  await running;
  assertEquals(
    shown.map((each) => JSON.stringify(each)),
    ran.map((each) => JSON.stringify(each)),
  );
  assertEquals(JSON.stringify(ran), JSON.stringify(all));
});
