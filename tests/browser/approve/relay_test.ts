/**
 * Two phones and a terminal that answer at once, through a relay that lies: nothing runs that nobody
 * allowed, and nothing hangs.
 */
import { assert, assertEquals } from "@std/assert";
import { consoleTest, type Tab } from "../support/driven.ts";
import {
  type Approving,
  type Lie,
  startApproving,
  tap,
} from "../support/approving.ts";
import type { Bytes } from "../../../shared/approvals/bytes.ts";
import { KINDS } from "../../../shared/approvals/message.ts";

const ANSWER = KINDS.answer;

/** Changes one bit. */
function flipped(message: Bytes, at: number): Bytes {
  const changed = message.slice();
  const i = at % changed.length;
  changed[i] = (changed[i] ?? 0) ^ 1;
  return changed;
}

/** Drops two of three answers, after or before the Computer got them. */
function dropping(): Lie {
  let count = 0;
  return async (message, pass) => {
    if (message[1] !== ANSWER || ++count % 3 === 0) return await pass(message);
    if (count % 3 === 1) await pass(message); // it counts, and its receipt is lost
    return undefined;
  };
}

/** Edits every second answer, and every third of what the Computer says. */
function editing(): Lie {
  let count = 0;
  return async (message, pass) => {
    count++;
    if (message[1] === ANSWER && count % 2 === 0) {
      return await pass(flipped(message, 100 + count));
    }
    const answer = await pass(message);
    return count % 3 === 0 ? flipped(answer, 100 + count) : answer;
  };
}

/** Repeats all answers so far, before and after each one. */
function repeating(): Lie {
  const seen: Bytes[] = [];
  return async (message, pass) => {
    if (message[1] !== ANSWER) return await pass(message);
    for (const old of seen) await pass(old);
    seen.push(message);
    const answer = await pass(message);
    await pass(message);
    return answer;
  };
}

/** Asks five questions; two phones answer each at once, one with yes, one with no. */
async function race(approving: Approving, phones: readonly Tab[]) {
  for (let i = 0; i < 5; i++) {
    const tool = `tool_${i}`;
    const asked = approving.ask({ tool, name: tool });
    const taps = phones.map(({ page }, k) =>
      page.evaluate<string>(tapOrEnd(tool, (i + k) % 2 === 0 ? "yes" : "no"))
    );
    if (i === 4) asked.end("answered at the terminal");
    const { answer, by } = await asked.answer;
    const winner = phones.findIndex((_, k) => by === `on "phone ${k}"`);
    const isYes = winner >= 0 && (i + winner) % 2 === 0;
    assertEquals(answer, isYes ? "once" : "no", `${tool} ${by}`);
    await Promise.all(
      phones.map(({ page }) => page.evaluate(`globalThis.over = "${tool}"`)),
    );
    await Promise.all(taps);
    await Promise.all(phones.map(({ page }) => idle(page)));
  }
}

/** Taps a button of a question as soon as taps count, unless the question ends before. */
const tapOrEnd = (tool: string, name: string) =>
  `new Promise((resolve) => {
    const timer = setInterval(() => {
      const title = document.querySelector("h1")?.textContent;
      const isShown = title === "Run ${tool}?";
      const button = document.querySelector("footer .${name}");
      if (isShown && button && !button.hasAttribute("aria-disabled")) {
        button.click();
      } else if (globalThis.over !== "${tool}") return;
      clearInterval(timer);
      resolve("done");
    }, 20);
  })`;

/** Waits until a phone shows that nothing waits, whatever it shows before. */
async function idle(page: Tab["page"]): Promise<void> {
  const nothing = page.getByText("Nothing to decide");
  const done = page.getByRole("button", { name: "Continue" });
  await nothing.or(done).first().waitFor();
  if (await nothing.isVisible()) return;
  await done.click();
  await nothing.waitFor();
}

const LIES: Readonly<Record<string, () => Lie | undefined>> = {
  "is honest": () => undefined,
  "drops two of three answers": dropping,
  "repeats every answer": repeating,
};

for (const [name, lie] of Object.entries(LIES)) {
  consoleTest(
    `threats 2, 13, 16: two phones and a terminal answer at once through a relay that ${name}`,
    async () => {
      await using approving = await startApproving();
      await using first = await approving.paired({ label: "phone 0" });
      await using second = await approving.paired({ label: "phone 1" });
      approving.relay.lie = lie();
      await race(approving, [first, second]);
      assert(approving.relay.mostPending <= 3);
    },
  );
}

consoleTest(
  "threat 13: an answer that a relay edits counts for nothing, and can be given again",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const asked = approving.ask();
    let isSettled = false;
    asked.answer.then(() => isSettled = true);
    await page.getByRole("heading", { name: "Run write_file?" }).waitFor();
    let count = 0;
    approving.relay.lie = (message, pass) =>
      pass(message[1] === ANSWER ? flipped(message, 120 + ++count) : message);
    await tap(page, /^Yes/);
    await page.getByText("Not delivered. Answer again.").waitFor();
    assert(count >= 3 && !isSettled);
    approving.relay.lie = undefined;
    await tap(page, /^Yes/);
    assertEquals((await asked.answer).answer, "once");
  },
);

consoleTest(
  "an answer whose receipts are lost is shown as ended, though the news of its end came before it was given up",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const asked = approving.ask();
    await page.getByRole("heading", { name: "Run write_file?" }).waitFor();
    // No further news come after the last try, which could show it.
    using held = new DisposableStack();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    held.defer(resolve);
    let tries = 0;
    approving.relay.lie = async (message, pass) => {
      if (message[1] === ANSWER) tries++;
      const answer = await pass(message);
      if (message[1] === ANSWER) return undefined;
      if (tries === 3) await over;
      return answer;
    };
    await tap(page, /^Yes/);
    assertEquals((await asked.answer).answer, "once");
    await page.getByText('It has ended: answered on "Pixel" (yes).').waitFor();
  },
);

consoleTest(
  "threats 14 and 15: news that a relay edits, holds or repeats show nothing",
  async () => {
    await using approving = await startApproving();
    await using tab = await approving.paired();
    const { page } = tab;
    const old: Bytes[] = [];
    let isLying = false;
    approving.relay.lie = async (message, pass) => {
      const answer = await pass(message);
      if (message[1] !== KINDS.poll) return answer;
      if (isLying) return old[0];
      old.push(answer);
      return answer;
    };
    const first = approving.ask({ tool: "first", name: "first" });
    await page.getByRole("heading", { name: "Run first?" }).waitFor();
    const second = approving.ask({ tool: "second", name: "second" });
    await page.getByText("1 more wait").waitFor();
    // From here on it repeats what came before.
    assert(old.length > 0);
    isLying = true;
    const third = approving.ask({ tool: "third", name: "third" });
    await page.getByText("Not connected, trying again.").waitFor();
    assertEquals(await page.getByText("2 more wait").count(), 0);
    approving.relay.lie = editing();
    await page.getByText("2 more wait").waitFor();
    approving.relay.lie = undefined;
    for (const asked of [first, second, third]) {
      await tap(page, /^No$/);
      assertEquals((await asked.answer).answer, "no");
    }
  },
);
