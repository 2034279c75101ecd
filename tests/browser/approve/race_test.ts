/**
 * Two phones, a program and a terminal that answer at the same time, behind a Server that lies: nothing
 * runs without a yes, and nothing hangs. `deno task test:approvals:long` has 300 calls.
 */
import { assert, assertEquals } from "@std/assert";
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ToolHost } from "../../../computer/mod.ts";
import type { Confirm } from "../../../computer/tools/confirm.ts";
import { firstAnswer } from "../../../computer/tools/first_answer.ts";
import type { AskedQuestion } from "../../../shared/approvals/device.ts";
import {
  beginPairing,
  type Pairing,
} from "../../../shared/approvals/device.ts";
import { readLink } from "../../../shared/approvals/pairing.ts";
import { forEachConcurrent } from "../../../shared/async.ts";
import {
  ALL_DICE,
  type Dice,
  LyingRelay,
} from "../../support/approvals/relay.ts";
import { TappingPerson } from "../../support/approvals/tapping.ts";
import { consoleTest, type Tab } from "../support/driven.ts";
import {
  type Approving,
  openPairing,
  startApproving,
} from "../support/approving.ts";

const isLong = Deno.env.get("SMCP_APPROVALS_LONG") === "1";
/** A phone takes about a second for each. */
const CALLS = isLong ? 300 : 15;
const PENDING = 4;
/** Time for those that are asked about before, and for answers that are lost. */
const CALL_MS = 30_000;

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

/** What each of them allows, by the number in the arguments: not all the same. */
const ALLOWS = {
  phone: (n: number) => n % 3 !== 0,
  tablet: (n: number) => n % 3 !== 0,
  program: (n: number) => n % 4 !== 0,
  terminal: (n: number) => n % 2 === 0,
};
type Place = keyof typeof ALLOWS;

/** Who answers which calls; at the terminal and the program a person is there now and then. */
const ANSWERS = {
  program: (n: number) => n % 5 === 1,
  terminal: (n: number) => n % 5 === 0,
};

/**
 * Decides all that a phone shows from now on, by the number in the frame of the argument: taps as soon as
 * taps count, and again where an answer was not delivered.
 */
const decideAll = (place: Place) =>
  `(() => {
    const allows = ${ALLOWS[place]};
    globalThis.tapped = [];
    globalThis.deciding = setInterval(() => {
      const ended = [...document.querySelectorAll("button")]
        .find((button) => button.textContent === "Continue");
      if (ended) return ended.click();
      const shown = document.querySelector("main pre, pre")?.textContent;
      if (shown === undefined || !/^Run pay\\?$/.test(document.querySelector("h1")?.textContent)) return;
      const n = Number(shown);
      const isYes = allows(n);
      const button = document.querySelector(isYes ? "footer .yes" : "footer .no");
      if (!button || button.hasAttribute("aria-disabled")) return;
      globalThis.tapped.push([n, isYes]);
      button.click();
    }, 20);
  })()`;

/** Stops a phone; returns what was tapped there. */
const stopDeciding = ({ page }: Tab) =>
  page.evaluate<[n: number, isYes: boolean][]>(
    "(clearInterval(globalThis.deciding), globalThis.tapped)",
  );

/** Pairs a program, as `smcp-computer approve` is. */
async function pairProgram({ approvals, page }: Approving): Promise<Pairing> {
  const pairing = await openPairing(approvals, page);
  const send = (_: unknown, message: Uint8Array<ArrayBuffer>) =>
    approvals.handle(message);
  const begun = await beginPairing(
    readLink(pairing.link),
    send,
    "program",
    true,
  );
  const paired = begun.paired(new AbortController().signal);
  assertEquals(await pairing.type(begun.digits), "paired");
  return await paired;
}

/** What all of them allowed and refused. */
class Said {
  readonly allowed = new Set<number>();
  readonly refused = new Set<number>();

  add(n: number, isYes: boolean): void {
    (isYes ? this.allowed : this.refused).add(n);
  }
}

/** Asks at a terminal and at devices, of which a program answers here. */
function answering(approving: Approving, relay: LyingRelay, said: Said) {
  const typing: Confirm = ({ params }, signal) =>
    new Promise((resolve) => {
      const n = Number(params.n);
      if (ANSWERS.terminal(n)) {
        const isYes = ALLOWS.terminal(n);
        said.add(n, isYes);
        queueMicrotask(() => resolve(isYes ? "once" : "no"));
      }
      signal.addEventListener("abort", () => resolve("no"));
    });
  const decide = ({ question }: AskedQuestion) => {
    const { n } = JSON.parse(question).arguments;
    const isYes = ALLOWS.program(n);
    said.add(n, isYes);
    return isYes ? "once" : "no";
  };
  return {
    confirm: firstAnswer(approving.approvals.confirm, typing),
    person: (program: Pairing) =>
      new TappingPerson(
        program,
        relay.send,
        decide,
        (question) =>
          ANSWERS.program(JSON.parse(question.question).arguments.n),
      ),
  };
}

consoleTest(
  `${CALLS} calls with two phones, a program and a terminal behind a Server that lies: nothing runs without a yes, and nothing hangs`,
  async () => {
    await using approving = await startApproving();
    await using phone = await approving.paired({ label: "phone" });
    await using tablet = await approving.paired({ label: "tablet" });
    const program = await pairProgram(approving);
    const relay = new LyingRelay(
      (message) => approving.approvals.handle(message),
      ALL_DICE,
    );
    approving.relay.lie = (message) =>
      relay.send(new Uint8Array(), message).catch(() => undefined);
    const said = new Said();
    const { confirm, person } = answering(approving, relay, said);
    const ran: number[] = [];
    await using host = new ToolHost({
      servers: { bank: { type: "in-process", server: paying(ran) } },
      confirm,
    });
    await host.start();
    await phone.page.evaluate(decideAll("phone"));
    await tablet.page.evaluate(decideAll("tablet"));
    const tapping = person(program);
    const running = tapping.run();
    const ends: boolean[] = [];
    const numbers = Array.from({ length: CALLS }, (_, n) => n);
    // Each by an Agent of its own: one that is refused again and again is muted.
    await forEachConcurrent(numbers, PENDING, async (n) => {
      const options = { agent: `agent ${n}`, timeoutMs: CALL_MS };
      const { isError } = await host.callTool("pay", { n }, options);
      ends[n] = isError !== true;
    });
    tapping.stop();
    await running;
    for (const tab of [phone, tablet]) {
      const tapped = await stopDeciding(tab);
      assert(tapped.length > CALLS / 10, `${tapped.length} taps`);
      for (const [n, isYes] of tapped) said.add(n, isYes);
    }
    assertEquals(ends.length, CALLS);
    assertEquals(ran.length, new Set(ran).size, "each ran once at most");
    for (const n of ran) assert(said.allowed.has(n), `${n} was not allowed`);
    assertEquals(
      ran.toSorted((a, b) => a - b),
      ends.flatMap((isDone, n) => isDone ? [n] : []),
    );
    assert(ran.length > CALLS / 4, `${ran.length} ran`);
    if (!isLong) return;
    for (const deed of Object.keys(ALL_DICE)) {
      assert(relay.done[deed as keyof Dice], `the relay never did: ${deed}`);
    }
  },
  isLong ? 30 * 60_000 : undefined,
);
