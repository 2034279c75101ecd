import { assertEquals } from "@std/assert";
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
    file: APPROVALS,
    source: `if (this.#isClosed) throw new Error("The Computer is closed");
      if (message`,
    without: "if (message",
  },
  {
    file: APPROVALS,
    source:
      `if (message.length > LIMITS.requestBytes) throw new Error("Too large");`,
  },
  {
    file: APPROVALS,
    source: `this.#devices.needStill(device);
    if (this.#isClosed)`,
    without: "if (this.#isClosed)",
  },
  {
    file: APPROVALS,
    source: `if (this.#isClosed) throw new Error("The Computer is closed");
    const news`,
    without: "const news",
  },
  {
    file: APPROVALS,
    source: `this.#devices.needStill(device);
    this.#used(device);
    const isFresh`,
    without: "const isFresh",
  },
  {
    file: APPROVALS,
    source: `readPush(push, pushHosts)`,
    without: "push as never",
  },
  {
    file: APPROVALS,
    source: `if (texts.some((text) => typeof text !== "string")) {
    throw new Error("An answer with a field that is no text");
  }`,
  },
  {
    file: DEVICES,
    source:
      `if (device === undefined) throw new Error("The device is not paired");`,
    repeats: "nothing can be read without the keys of its sender",
  },
  {
    file: DEVICES,
    source: `if (this.#known.has(device.name)) {`,
    without: "if (false) {",
  },
  {
    file: DEVICES,
    source: `if (this.#known.size < LIMITS.devices) return;`,
    without: "return;",
  },
  {
    file: PAIRINGS,
    source: `const { self } = this.#parts;
    this.#checkWaiting();`,
    without: "const { self } = this.#parts;",
    repeats: "the same check after the message was read",
  },
  {
    file: PAIRINGS,
    source: `this.#checkWaiting();
    this.#state = "typing";`,
    without: `this.#state = "typing";`,
  },
  {
    file: PAIRINGS,
    source: `if (sameBytes(fromBase64url(String(mac)), expected)) return pub;`,
    without: "return pub;",
  },
  {
    file: PAIRINGS,
    source: `await savedKey(seal, SEALING, "seal")`,
    without: "seal",
  },
  {
    file: PAIRINGS,
    source: `await savedKey(sign, SIGNING, "sign")`,
    without: "sign",
    repeats: "the signature of the hello is verified with that key",
  },
  {
    file: PAIRINGS,
    source:
      `if (candidate === undefined) throw new Error("No device opened the link");`,
    repeats: "nothing can be read without the keys of its sender",
  },
  {
    file: PAIRINGS,
    source: `if (this.#device === undefined) {`,
    without: "if (false) {",
  },
  {
    file: PAIRINGS,
    source: `if (this.#state !== "typing" || candidate === undefined) {`,
    without: "if (candidate === undefined) {",
    repeats: "the digits of one pairing are stored once",
  },
  {
    file: PAIRINGS,
    source: `if (typed.replaceAll(/[\\s-]/g, "") !== candidate.digits) {`,
    without: "if (false) {",
  },
  {
    file: PAIRINGS,
    source: `if (this.#triesLeft === 0) this.end("wrong digits");`,
  },
  {
    file: PAIRINGS,
    source: `if (this.#isGone) {
      // Cancelled`,
    without: `if (false) {
      // Cancelled`,
  },
  {
    file: PAIRINGS,
    source: `if (this.#parts.now() > this.#until) this.end("expired");`,
  },
  {
    file: PAIRINGS,
    source: `if (this.#isGone) throw new Error(OVER);`,
  },
  {
    file: PAIRINGS,
    source: `this.#open?.end("replaced");`,
  },
  {
    file: QUESTIONS,
    source: `if (!isTooLarge && !isSame(text, request)) {`,
    without: "if (false) {",
  },
  {
    file: QUESTIONS,
    source: `isRefusal(answer.answer) || isSame(text, request)`,
    without: "true",
  },
  {
    file: QUESTIONS,
    source: `if (question === undefined) {`,
    without: "if (false) {",
  },
  { file: QUESTIONS, source: `if (!isFresh) return "stale";` },
  {
    file: QUESTIONS,
    source: `if (this.#now() > question.until) return "expired";`,
  },
  {
    file: QUESTIONS,
    source:
      `if (question.isTooLarge && !isRefusal(option)) return "too large";`,
  },
  {
    file: QUESTIONS,
    source: `if (!question.options.includes(option)) return "no such option";`,
  },
  {
    file: QUESTIONS,
    source: `if (reason !== undefined && reason.length > LIMITS.reason) {`,
    without: "if (false) {",
  },
  {
    file: QUESTIONS,
    source: `.filter(({ id }) => id !== "always")`,
  },
  { file: QUESTIONS, source: `this.#asked.delete(hash);` },
  {
    file: QUESTIONS,
    source: `if (reason !== "timeout") {`,
    without: "if (false) {",
  },
  {
    file: QUESTIONS,
    source: `.filter(({ until }) => until > now)`,
  },
  {
    file: QUESTIONS,
    source: `if (isOver) this.#end(each, "timeout");`,
  },
  {
    file: TIME,
    source: `at !== undefined && `,
    repeats: "nothing is compared with undefined but false",
  },
  {
    file: TIME,
    source: ` && now - at <= LIMITS.tickMs;`,
    without: ";",
  },
  {
    file: MESSAGE,
    source: `if (message.length < least || message[0] !== VERSION) {`,
    without: "if (false) {",
    repeats: "length and version are sealed and signed with the rest",
  },
  {
    file: MESSAGE,
    source: `if (kind === undefined || !kinds.includes(kind)) {`,
    without: "if (kind === undefined) {",
    repeats: "the Computer reads a message by its kind, which is signed",
  },
  {
    file: MESSAGE,
    source: `if (!sameBytes(head.slice(2 + ID_BYTES), to.id)) {`,
    without: "if (false) {",
    repeats: "the seal of HPKE names the receiver",
  },
  {
    file: MESSAGE,
    source: `if (!sameBytes(senderOf(message), sender.id)) {`,
    without: "if (false) {",
    repeats: "the sender's key is looked up by that id",
  },
  {
    file: MESSAGE,
    source: `if (!await subtle.verify(ECDSA, key, signature, signed)) {`,
    without: "if (false) {",
  },
];

/** Changing each bit takes long, and what lets one through lets others through, too. */
const ALL = [...ATTACKS, ...PAIRING_ATTACKS]
  .filter(({ name }) => !name.endsWith("with a changed bit"));

/** An attack that waits for what never comes has an effect. */
const MOST_MS = 30_000;

/** Returns the first attack that has an effect. */
async function noticedBy(
  check: Check | undefined,
): Promise<string | undefined> {
  await using folder = await scratch();
  const module = await withoutCheck(folder.path, check);
  for (const { name, run } of ALL) {
    try {
      await withTimeout(MOST_MS, () => run(module));
    } catch {
      return name;
    }
  }
  return undefined;
}

Deno.test("a copy of the approvals with all checks stands all attacks", async () => {
  assertEquals(await noticedBy(undefined), undefined);
});

for (const check of CHECKS) {
  const { file, source, repeats } = check;
  const [line = ""] = source.split("\n");
  const what = repeats === undefined ? "is missed" : `repeats: ${repeats}`;
  Deno.test(`the check of ${file} ${what}: ${line.trim()}`, async () => {
    const name = await noticedBy(check);
    assertEquals(name !== undefined, repeats === undefined, name);
  });
}
