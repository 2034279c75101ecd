/**
 * What others try at a Computer with devices: each attack fails where the Computer's checks are complete,
 * and throws where one of them is missing.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  type Bytes,
  randomBytes,
  toBase64url,
} from "../../../shared/approvals/bytes.ts";
import {
  type Pairing,
  poll,
  RefusedError,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import {
  deviceId,
  kindOf,
  newKeys,
  type Party,
  plainMessage,
  publicKeys,
  type Self,
  writeMessage,
} from "../../../shared/approvals/message.ts";
import { LIMITS, type Payloads } from "../../../shared/approvals/question.ts";
import {
  answerBy,
  type ApprovalsModule,
  caught,
  shownBy,
  Side,
} from "./side.ts";

/** One attack; its name begins with the threat that it is (research, §2). */
export interface Attack {
  readonly name: string;
  /** @throws when it has an effect */
  run(module: ApprovalsModule): Promise<void>;
}

/** Makes an attack on a Computer with one phone. */
export const attack = (
  name: string,
  run: (side: Side, phone: Pairing) => Promise<void>,
): Attack => ({
  name,
  run: async (module) => {
    const { side, phone } = await Side.withPhone(module);
    await using _ = side;
    await run(side, phone);
  },
});

/** Lets all settle that waits for its turn alone. */
export const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Settles as a promise does, or with undefined once all that waits for its turn alone has settled. */
export async function soon<T>(promise: Promise<T>): Promise<T | undefined> {
  const turn = settled().then(() => undefined);
  try {
    return await Promise.race([promise, turn]);
  } finally {
    await turn; // its timer would outlast the test
  }
}

/** Makes a device with keys of its own, which is not paired. */
export async function stranger(computer: Party): Promise<Self> {
  const keys = await newKeys(false);
  const pub = await publicKeys(keys);
  return { id: await deviceId(pub, computer.id), keys, pub };
}

/** Seals an answer that a phone did not write, or wrote otherwise. */
export const forged = (
  phone: Pairing,
  payload: object,
  self: Self = phone.self,
): Promise<Bytes> => writeMessage("answer", payload, self, phone.computer);

/** Returns the payload of a yes that would count. */
export async function yesOf(
  side: Side,
  phone: Pairing,
): Promise<Payloads["answer"]> {
  const { questions: [first], tick } = await shownBy(phone, side.send);
  assert(first);
  const re = toBase64url(randomBytes(16));
  return { re, hash: first.hash, option: "once", tick };
}

/** Lets a new phone poll, and returns once the Computer waits for something to tell it. */
async function waitingPoll(side: Side, have: readonly string[] = []) {
  const phone = await side.pair("Tablet");
  const refused = assertRejects(
    () => poll(phone, side.send, { have, wait: 25_000 }),
    RefusedError,
  );
  const tablet = () =>
    side.approvals.devices().find(({ label }) => label === "Tablet");
  while (tablet()?.seen === undefined) await settled();
  await settled();
  return { phone, refused };
}

const isRefused = async (side: Side, message: Bytes): Promise<void> =>
  assertEquals(
    kindOf(await side.approvals.handle(message)),
    "refused",
  );

/** What members, Agents and the Server try with messages. */
export const ATTACKS: readonly Attack[] = [
  attack(
    "threat 1: arguments change after they were shown",
    async (side, phone) => {
      const params: Record<string, unknown> = { path: "/notes/a" };
      const call = side.ask({ params });
      const [shown] = (await shownBy(phone, side.send)).questions;
      assertEquals(JSON.parse(shown?.question ?? "").arguments, params);
      params.path = "/etc/passwd";
      await answerBy(phone, side.send);
      assertEquals((await call.answer).answer, "no");
    },
  ),
  attack(
    "threat 1: arguments that JSON cannot have are not asked about",
    async (side) => {
      const params = { at: new Date(), run: undefined };
      await assertRejects(
        () => soon(side.ask({ params }).answer),
        Error,
        "not plain JSON",
      );
    },
  ),
  attack(
    "threat 2: a yes is for one call, and the second yes for none",
    async (side, phone) => {
      const first = side.ask();
      const message = await caught(async (send) => {
        const { questions: [shown], tick } = await shownBy(phone, side.send);
        await sendAnswer(phone, send, {
          hash: shown?.hash ?? "",
          option: "once",
          tick,
        });
      });
      await side.approvals.handle(message);
      assertEquals(await first.answer, { answer: "once", by: 'on "Pixel"' });
      const second = side.ask(); // the very same call
      await shownBy(phone, side.send);
      await side.approvals.handle(message);
      await settled();
      assertEquals(second.given, undefined);
      assertStringIncludes(await answerBy(phone, side.send, "no"), "taken");
    },
  ),
  attack(
    "threat 2: the second answer to a question gets who gave the first",
    async (side, phone) => {
      const call = side.ask();
      const { questions: [shown], tick } = await shownBy(phone, side.send);
      const answer = { hash: shown?.hash ?? "", tick };
      const no = { ...answer, option: "no" as const };
      const yes = { ...answer, option: "once" as const };
      assertEquals(await sendAnswer(phone, side.send, no), "taken");
      const said = await sendAnswer(phone, side.send, yes);
      assertEquals(said, 'ended: answered on "Pixel"');
      assertEquals((await call.answer).answer, "no");
    },
  ),
  attack(
    "threat 10: a device that was never paired neither reads nor answers",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      const self = await stranger(phone.computer);
      await isRefused(side, await forged(phone, yes, self));
      const question = { nonce: "n", have: [], wait: 0 };
      await isRefused(
        side,
        await writeMessage("poll", question, self, phone.computer),
      );
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 10: a device that says it is another one",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      const { keys, pub } = await stranger(phone.computer);
      // Sealed to the Computer, which anybody can; signed by a key that is not the phone's.
      await isRefused(
        side,
        await forged(phone, yes, { id: phone.self.id, keys, pub }),
      );
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 11: a call of an operator asks like any other",
    async (side, phone) => {
      const call = side.ask({ agent: "operator", operator: "ann" });
      const [shown] = (await shownBy(phone, side.send)).questions;
      assertEquals(JSON.parse(shown?.question ?? "").caller, {
        kind: "operator",
        name: "ann",
      });
      await answerBy(phone, side.send, "no", "not you");
      assertEquals(await call.answer, {
        answer: "no",
        by: 'on "Pixel"',
        reason: "not you",
      });
    },
  ),
  attack(
    "threat 13: a message of another kind, of no kind, or too large",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      for (const kind of ["code", "news", "paired", "taken"] as const) {
        await isRefused(
          side,
          await writeMessage(kind, yes, phone.self, phone.computer),
        );
      }
      await isRefused(side, plainMessage("refused"));
      await isRefused(side, new Uint8Array());
      await isRefused(side, randomBytes(400));
      const large = { ...yes, more: "x".repeat(LIMITS.requestBytes) };
      await isRefused(side, await forged(phone, large));
      for (const field of ["re", "hash", "option", "tick"]) {
        await isRefused(side, await forged(phone, { ...yes, [field]: 1 }));
      }
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 13: no message counts with a changed bit",
    async (side, phone) => {
      const call = side.ask();
      const message = await forged(phone, await yesOf(side, phone));
      for (const i of message.keys()) {
        const changed = message.slice();
        changed[i] = (changed[i] ?? 0) ^ 1 << i % 8;
        await isRefused(side, changed);
      }
      await settled();
      assertEquals(call.given, undefined);
      await side.approvals.handle(message);
      assertEquals((await call.answer).answer, "once");
    },
  ),
  attack(
    "threat 13: an answer to something that was not offered",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      const send = (answer: object) =>
        sendAnswer(phone, side.send, { ...yes, ...answer });
      const reason = "x".repeat(LIMITS.reason + 1);
      assertEquals(await send({ option: "always" }), "no such option");
      assertEquals(await send({ option: "constructor" }), "no such option");
      assertEquals(await send({ option: "no", reason }), "reason too long");
      const hash = toBase64url(randomBytes(32));
      assertEquals(await send({ hash }), "unknown");
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 13: a yes to arguments that are too large to be shown",
    async (side, phone) => {
      const params = { content: "x".repeat(LIMITS.questionBytes) };
      const call = side.ask({ params });
      const [shown] = (await shownBy(phone, side.send)).questions;
      const question = JSON.parse(shown?.question ?? "");
      assertEquals(question.arguments, {});
      assertEquals(question.omitted, JSON.stringify(params).length);
      assertEquals(await answerBy(phone, side.send), "too large");
      assertEquals(await answerBy(phone, side.send, "hour"), "too large");
      assertEquals(call.given, undefined);
      assertEquals(await answerBy(phone, side.send, "no"), "taken");
      assertEquals((await call.answer).answer, "no");
    },
  ),
  attack("threat 14: a yes that the Server held back", async (side, phone) => {
    const call = side.ask({ leftMs: 3_600_000 });
    const message = await forged(phone, await yesOf(side, phone));
    const yes = await yesOf(side, phone);
    side.pass(LIMITS.tickMs + 1);
    await side.approvals.handle(message);
    assertEquals(await sendAnswer(phone, side.send, yes), "stale");
    assertEquals(call.given, undefined);
    assertEquals(await answerBy(phone, side.send), "taken");
  }),
  attack("threat 14: a yes after the time of its call", async (side, phone) => {
    const call = side.ask({ leftMs: 20_000 });
    const yes = await yesOf(side, phone);
    side.pass(20_001);
    const late = await poll(phone, side.send);
    assertEquals(late.questions, []);
    const answer = { ...yes, tick: late.tick };
    assertEquals(await sendAnswer(phone, side.send, answer), "expired");
    assertEquals(call.given, undefined);
  }),
  attack(
    "threat 14: a tick of another device, or a made-up one",
    async (side, phone) => {
      const other = await side.pair("Tablet");
      const call = side.ask();
      const yes = await yesOf(side, phone);
      const { tick } = await poll(other, side.send);
      for (const each of [tick, toBase64url(randomBytes(16)), ""]) {
        const answer = { ...yes, tick: each };
        assertEquals(await sendAnswer(phone, side.send, answer), "stale");
      }
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 14: a yes to a call that was withdrawn",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      call.end("answered at the terminal");
      const said = await sendAnswer(phone, side.send, yes);
      assertEquals(said, "ended: answered at the terminal");
      assertEquals((await call.answer).answer, "no");
      assertEquals(call.late, []);
    },
  ),
  attack("threat 14: a late yes after its ten minutes", async (side, phone) => {
    const call = side.ask({ leftMs: 60_000 });
    await shownBy(phone, side.send);
    call.end("timeout");
    side.pass(LIMITS.lateMs + 1);
    const { questions, tick, ended } = await poll(phone, side.send);
    assertEquals(questions, []);
    const [{ hash = "" } = {}] = ended;
    const answer = { hash, tick, option: "once" as const };
    assertEquals(await sendAnswer(phone, side.send, answer), "ended: timeout");
    assertEquals(call.late, []);
  }),
  attack(
    "threat 26: a device that is removed while its yes is read",
    async (side, phone) => {
      const call = side.ask();
      const message = await forged(phone, await yesOf(side, phone));
      const answer = side.approvals.handle(message);
      await Promise.all([side.approvals.remove("Pixel"), answer]);
      assertEquals(kindOf(await answer), "refused");
      assertEquals(call.given, undefined);
      await assertRejects(() => poll(phone, side.send), RefusedError);
    },
  ),
  attack("threat 26: a poll of a device that is removed", async (side) => {
    const { phone, refused } = await waitingPoll(side);
    await side.approvals.remove(toBase64url(phone.self.id));
    await refused;
    assertEquals(side.approvals.devices().length, 1);
  }),
  attack(
    "threat 16: polls end with the Computer, and answers do no more",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      const { refused } = await waitingPoll(side, [yes.hash]);
      await side.approvals.close();
      await refused;
      await isRefused(side, await forged(phone, yes));
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 12: what passes says nothing of calls, and its length little",
    async (side, phone) => {
      const passed: Bytes[] = [];
      const call = side.ask({ params: { content: "the secret plan" } });
      const send = async (token: Bytes, message: Bytes) => {
        const answer = await side.send(token, message);
        passed.push(message, answer);
        return answer;
      };
      await answerBy(phone, send, "no", "a private reason");
      assertEquals((await call.answer).answer, "no");
      for (const bytes of passed) {
        const text = new TextDecoder("latin1").decode(bytes);
        for (
          const word of ["secret", "private", "write_file", "planner", "Pixel"]
        ) {
          assert(!text.includes(word), word);
        }
        const body = Math.log2((bytes.length - 99 - 16 - 64) / 256);
        assertEquals(body, Math.floor(body));
      }
      assertNotEquals(passed.length, 0);
    },
  ),
  attack(
    "threat 32: a push service of the device's own",
    async (side, phone) => {
      const keys = await crypto.subtle.generateKey(
        { name: "ECDSA", namedCurve: "P-256" },
        true,
        ["sign", "verify"],
      );
      const raw = await crypto.subtle.exportKey("raw", keys.publicKey);
      const push = {
        endpoint: "https://10.0.0.1/admin",
        p256dh: toBase64url(new Uint8Array(raw)),
        auth: toBase64url(randomBytes(16)),
        vapid: await crypto.subtle.exportKey("jwk", keys.privateKey),
      };
      await poll(phone, side.send, { have: [], wait: 0, push });
      assertEquals(side.approvals.subscriptions(), []);
      const endpoint = "https://web.push.apple.com/abc";
      await poll(phone, side.send, {
        have: [],
        wait: 0,
        push: { ...push, endpoint },
      });
      assertEquals(side.approvals.subscriptions().length, 1);
      assertEquals(side.approvals.devices()[0]?.isWoken, true);
    },
  ),
];
