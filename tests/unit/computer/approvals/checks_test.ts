import { assert, assertEquals } from "@std/assert";
import { ATTACKS } from "../../../support/approvals/attacks.ts";
import {
  type Check,
  withoutCheck,
} from "../../../support/approvals/leave_out.ts";
import { PAIRING_ATTACKS } from "../../../support/approvals/pairing_attacks.ts";
import { withTimeout } from "../../../../shared/async.ts";
import { scratch } from "../../../support/scratch.ts";

const APPROVALS = "computer/approvals/approvals.ts";
const DEVICES = "computer/approvals/devices.ts";
const PAIRINGS = "computer/approvals/pairings.ts";
const QUESTIONS = "computer/approvals/questions.ts";
const TIME = "computer/approvals/time.ts";
const MESSAGE = "shared/approvals/message.ts";

/** Each check of the Computer between a message and its effect. */
const CHECKS: readonly Check[] = [
  {
    noticedBy: "threat 16: polls end",
    file: APPROVALS,
    source: `if (this.#isClosed) throw new Error("The Computer is closed");
      if (message`,
    without: "if (message",
    repeats: "polls, answers and the pairing end with the Computer, too",
  },
  {
    noticedBy: "threat 13: a message of another kind",
    file: APPROVALS,
    source:
      `if (message.length > LIMITS.requestBytes) throw new Error("Too large");`,
  },
  {
    noticedBy: "threat 26: a poll of a device",
    file: APPROVALS,
    source: `this.#needLive(device); // or it would wait in vain`,
    repeats: "the same check after the poll has waited",
  },
  {
    noticedBy: "threat 26: a poll of a device",
    file: APPROVALS,
    source: `this.#needLive(device);
    const news`,
    without: "const news",
  },
  {
    noticedBy: "threat 16: polls end",
    file: APPROVALS,
    source: `if (this.#isClosed) throw new Error("The Computer is closed");
    this.#devices.needStill(device);`,
    without: "this.#devices.needStill(device);",
  },
  {
    noticedBy: "threat 26: a device that is removed while",
    file: APPROVALS,
    source: `if (this.#isClosed) throw new Error("The Computer is closed");
    this.#devices.needStill(device);`,
    without: `if (this.#isClosed) throw new Error("The Computer is closed");`,
  },
  {
    noticedBy: "threat 26: a device that is removed while",
    file: APPROVALS,
    source: `this.#needLive(device);
    this.#used(device);
    const isFresh`,
    without: `this.#used(device);
    const isFresh`,
  },
  {
    noticedBy: "threat 32",
    file: APPROVALS,
    source: `readPush(push, pushHosts)`,
    without: "push as never",
  },
  {
    noticedBy: "threat 13: a message of another kind",
    file: APPROVALS,
    source: `if (texts.some((text) => typeof text !== "string")) {
    throw new Error("An answer with a field that is no text");
  }`,
  },
  {
    noticedBy: "threat 10: a device that was never",
    file: DEVICES,
    source:
      `if (device === undefined) throw new Error("The device is not paired");`,
    repeats: "nothing can be read without the keys of its sender",
  },
  {
    noticedBy: "threat 23: keys that were paired",
    file: DEVICES,
    source: `if (this.#known.has(device.name)) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 23: more devices",
    file: DEVICES,
    source: `if (this.#known.size < LIMITS.devices) return;`,
    without: "return;",
  },
  {
    noticedBy: "threat 23: who photographs",
    file: PAIRINGS,
    source: `const { self } = this.#parts;
    this.#checkWaiting();`,
    without: "const { self } = this.#parts;",
    repeats: "the same check after the message was read",
  },
  {
    noticedBy: "threat 23: who photographs",
    file: PAIRINGS,
    source: `this.#checkWaiting();
    this.#state = "typing";`,
    without: `this.#state = "typing";`,
  },
  {
    noticedBy: "threat 20: the Server takes the place of the phone",
    file: PAIRINGS,
    source: `if (sameBytes(fromBase64url(String(mac)), expected)) return pub;`,
    without: "return pub;",
  },
  {
    noticedBy: "threat 20: keys that are none",
    file: PAIRINGS,
    source: `const answer = await writeMessage("code", code, self, candidate);`,
    without: `const answer = writeMessage("code", code, self, candidate);`,
  },
  {
    noticedBy: "threat 20: nobody gets a token",
    file: PAIRINGS,
    source:
      `if (candidate === undefined) throw new Error("No device opened the link");`,
    repeats: "nothing can be read without the keys of its sender",
  },
  {
    noticedBy: "threat 20: nobody gets a token",
    file: PAIRINGS,
    source: `if (this.#device === undefined) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 23: who opens it first",
    file: PAIRINGS,
    source: `if (this.#state !== "typing" || candidate === undefined) {`,
    without: "if (candidate === undefined) {",
    repeats: "the digits of one pairing are stored once",
  },
  {
    noticedBy: "threat 23: who opens it first",
    file: PAIRINGS,
    source: `if (typedDigits(typed) !== candidate.digits) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 23: who opens it first",
    file: PAIRINGS,
    source: `if (this.#triesLeft === 0) this.end("wrong digits");`,
  },
  {
    noticedBy: "threat 23: a pairing that is cancelled",
    file: PAIRINGS,
    source: `if (this.#isGone) {
      // Cancelled`,
    without: `if (false) {
      // Cancelled`,
  },
  {
    noticedBy: "threat 23: digits of five",
    file: PAIRINGS,
    source: `if (this.#parts.now() > this.#until) this.end("expired");`,
  },
  {
    noticedBy: "threat 23: a link that another",
    file: PAIRINGS,
    source: `if (this.#isGone) throw new Error(OVER);`,
  },
  {
    noticedBy: "threat 23: a link that another",
    file: PAIRINGS,
    source: `this.#open?.end("replaced");`,
  },
  {
    noticedBy: "threat 1: arguments that JSON",
    file: QUESTIONS,
    source: `if (!isTooLarge && !isSame(text, request)) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 1: arguments change",
    file: QUESTIONS,
    source: `isRefusal(answer.answer) || isSame(text, request)`,
    without: "true",
  },
  {
    noticedBy: "threat 13: an answer to something",
    file: QUESTIONS,
    source: `if (question === undefined) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 14: a yes that the Server",
    file: QUESTIONS,
    source: `if (!isFresh) return "stale";`,
  },
  {
    noticedBy: "threat 14: a yes after",
    file: QUESTIONS,
    source: `if (this.#now() > question.until) return "expired";`,
  },
  {
    noticedBy: "threat 13: a yes to arguments",
    file: QUESTIONS,
    source:
      `if (question.isTooLarge && !isRefusal(option)) return "too large";`,
  },
  {
    noticedBy: "threat 13: an answer to something",
    file: QUESTIONS,
    source: `if (!question.options.includes(option)) return "no such option";`,
  },
  {
    noticedBy: "threat 13: an answer to something",
    file: QUESTIONS,
    source: `if (reason !== undefined && reason.length > LIMITS.reason) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 13: an answer to something",
    file: QUESTIONS,
    source: `.filter(({ id }) => id !== "always")`,
  },
  {
    noticedBy: "threat 2: the second answer",
    file: QUESTIONS,
    source: `this.#asked.delete(hash);`,
  },
  {
    noticedBy: "threat 14: a yes to a call that was",
    file: QUESTIONS,
    source: `if (reason !== "timeout" || question.isTooLarge) {`,
    without: "if (false) {",
  },
  {
    noticedBy: "threat 14: a yes after",
    file: QUESTIONS,
    source: `.filter(({ until }) => until > now)`,
  },
  {
    noticedBy: "threat 14: a late yes",
    file: QUESTIONS,
    source: `if (isOver) this.#end(each, "timeout");`,
  },
  {
    noticedBy: "threat 14: a tick of another",
    file: TIME,
    source: `at !== undefined && `,
    repeats: "nothing is compared with undefined but false",
  },
  {
    noticedBy: "threat 14: a yes that the Server",
    file: TIME,
    source: ` && now - at <= LIMITS.tickMs;`,
    without: ";",
  },
  {
    noticedBy: "threat 13: a message of another kind",
    file: MESSAGE,
    source: `if (message.length < least || message[0] !== VERSION) {`,
    without: "if (false) {",
    repeats: "length and version are sealed and signed with the rest",
  },
  {
    noticedBy: "threat 13: a message of another kind",
    file: MESSAGE,
    source: `if (kind === undefined || !kinds.includes(kind)) {`,
    without: "if (kind === undefined) {",
    repeats: "the Computer reads a message by its kind, which is signed",
  },
  {
    noticedBy: "threat 25",
    file: MESSAGE,
    source: `if (!sameBytes(head.slice(2 + ID_BYTES), to.id)) {`,
    without: "if (false) {",
    repeats: "the seal of HPKE names the receiver",
  },
  {
    noticedBy: "threat 10: a device that says",
    file: MESSAGE,
    source: `if (!sameBytes(senderOf(message), sender.id)) {`,
    without: "if (false) {",
    repeats: "the sender's key is looked up by that id",
  },
  {
    noticedBy: "threat 10: a device that says",
    file: MESSAGE,
    source: `if (!await subtle.verify(ECDSA, key, signature, signed)) {`,
    without: "if (false) {",
  },
];

const ALL = [...ATTACKS, ...PAIRING_ATTACKS];

/** An attack that waits for what never comes has an effect. */
const MOST_MS = 60_000;

/** Tries an attack on a copy of the approvals; returns whether it had an effect. */
async function hasEffect(
  prefix: string,
  check: Check | undefined,
): Promise<boolean> {
  const [attack, ...others] = ALL.filter(({ name }) => name.startsWith(prefix));
  assert(attack, prefix);
  assertEquals(others, [], prefix);
  await using folder = await scratch();
  const module = await withoutCheck(folder.path, check);
  try {
    await withTimeout(MOST_MS, () => attack.run(module));
    return false;
  } catch {
    return true;
  }
}

Deno.test("a copy of the approvals with all checks stands attacks", async () => {
  assertEquals(
    await hasEffect("threat 10: a device that says", undefined),
    false,
  );
});

for (const check of CHECKS) {
  const { file, source, repeats, noticedBy } = check;
  const [line = ""] = source.split("\n");
  const what = repeats === undefined ? "is missed" : `repeats: ${repeats}`;
  Deno.test({
    name: `the check of ${file} ${what}: ${line.trim()}`,
    // What lacks a check may leave something open.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      assertEquals(await hasEffect(noticedBy, check), repeats === undefined);
    },
  });
}
