/**
 * What others try while a device is paired, and with a device or a file that is not theirs.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { readFile } from "node:fs/promises";
import {
  type Bytes,
  fromBase64url,
  joinBytes,
  randomBytes,
  toBase64url,
} from "../../../shared/approvals/bytes.ts";
import {
  beginPairing,
  type Pairing,
  poll,
  RefusedError,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import {
  computerId,
  deviceId,
  kindOf,
  newKeys,
  plainMessage,
  publicKeys,
  readMessage,
  type Self,
  writeMessage,
} from "../../../shared/approvals/message.ts";
import {
  helloMac,
  pairingDigits,
  type PairingLink,
  readLink,
} from "../../../shared/approvals/pairing.ts";
import { importKeys } from "../../../shared/approvals/saved_keys.ts";
import { LIMITS } from "../../../shared/approvals/question.ts";
import {
  type Attack,
  attack,
  forged,
  settled,
  soon,
  stranger,
  yesOf,
} from "./attacks.ts";
import type { OpenPairing } from "../../../computer/approvals/pairings.ts";
import { type Side, TARGET } from "./side.ts";

/** Writes a hello of a device, with or without what proves that it has the link. */
async function helloOf(
  self: Self,
  link: PairingLink,
  phone: Pairing,
  over: object = {},
): Promise<Bytes> {
  const mac = await helloMac(link.secret, link.id, self.pub);
  return await writeMessage(
    "hello",
    {
      sign: toBase64url(self.pub.sign),
      seal: toBase64url(self.pub.seal),
      mac: toBase64url(mac),
      label: "Other",
      ...over,
    },
    self,
    phone.computer,
  );
}

/** Returns how a pairing ended, or that it is open. */
const endOf = async ({ ended }: OpenPairing): Promise<unknown> =>
  await soon(ended) ?? "open";

/** Other digits than these. */
const otherThan = (digits: string): string =>
  digits === "000000" ? "000001" : "000000";

const labels = ({ approvals }: Side): string[] =>
  approvals.devices().map(({ label }) => label);

/** What is tried while a device is paired, by who knows the link or stands in the middle. */
export const PAIRING_ATTACKS: readonly Attack[] = [
  attack(
    "threat 20: the Server takes the place of the Computer",
    async (side) => {
      const link = await side.link();
      const own = await publicKeys(await newKeys(false));
      const answer = plainMessage("keys", own.sign, own.seal);
      await assertRejects(
        () => beginPairing(link, () => Promise.resolve(answer), "Pixel", false),
        Error,
        "not the Computer of the link",
      );
    },
  ),
  attack(
    "threat 20: the Server takes the place of the phone, without the secret",
    async (side, phone) => {
      const link = await side.link();
      const self = await stranger(phone.computer);
      const guess = { ...link, secret: randomBytes(16) };
      const none = { mac: undefined };
      for (
        const message of [
          await helloOf(self, guess, phone),
          await helloOf(self, link, phone, none),
          await helloOf(self, link, phone, { mac: "" }),
        ]
      ) {
        assertEquals(kindOf(await side.approvals.handle(message)), "refused");
      }
      // What was wrong has not used the link.
      await beginPairing(link, side.send, "Pixel", false);
    },
  ),
  attack(
    "threat 20: keys that are none do not use the link",
    async (side, phone) => {
      const link = await side.link();
      const self = await stranger(phone.computer);
      const seal = new Uint8Array(65).fill(4);
      const pub = { ...self.pub, seal };
      const id = await deviceId(pub, link.id);
      const hello = await helloOf({ ...self, id, pub }, link, phone);
      assertEquals(kindOf(await side.approvals.handle(hello)), "refused");
      await beginPairing(link, side.send, "Pixel", false);
    },
  ),
  attack(
    "threat 20: the digits depend on a value that the Computer chooses last",
    async (side, phone) => {
      const link = await side.link();
      const self = await stranger(phone.computer);
      const hello = await helloOf(self, link, phone);
      const answer = await side.approvals.handle(hello);
      const { payload } = await readMessage(
        answer,
        ["code"],
        self,
        phone.computer,
      );
      assertEquals(fromBase64url(Object(payload).nonce).length, 16);
      const again = await side.approvals.handle(hello);
      assertEquals(kindOf(again), "refused");
    },
  ),
  attack(
    "threat 20: nobody gets a token before the digits were typed",
    async (side, phone) => {
      const link = await side.link();
      const self = await stranger(phone.computer);
      await side.approvals.handle(await helloOf(self, link, phone));
      const wait = { nonce: "n", wait: 0 };
      const ask = async (from: Self) =>
        kindOf(
          await side.approvals.handle(
            await writeMessage("wait", wait, from, phone.computer),
          ),
        );
      assertEquals(await ask(self), "wait");
      assertEquals(await ask(await stranger(phone.computer)), "refused");
      assertEquals(labels(side), ["Pixel"]);
    },
  ),
  attack(
    "threat 23: who photographs the link and opens it second",
    async (side, phone) => {
      const link = await side.link();
      const first = await stranger(phone.computer);
      const second = await stranger(phone.computer);
      const messages = [
        await helloOf(first, link, phone),
        await helloOf(second, link, phone),
      ];
      const answers = await Promise.all(
        messages.map((message) => side.approvals.handle(message)),
      );
      const kinds = answers.map(kindOf).toSorted();
      assertEquals(kinds, ["code", "refused"]);
    },
  ),
  attack(
    "threat 23: who opens it first, and the digits are not typed",
    async (side) => {
      const open = await side.approvals.pair(TARGET);
      const link = readLink(open.link);
      await assertRejects(
        () => open.type("123456"),
        Error,
        "opened the link yet",
      );
      const thief = await beginPairing(link, side.send, "Thief", false);
      assertEquals(await open.opened, { label: "Thief" });
      const owner = () => beginPairing(link, side.send, "Owner", false);
      await assertRejects(owner, RefusedError);
      const wrong = otherThan(thief.digits);
      assertEquals(await open.type(wrong), { triesLeft: 2 });
      assertEquals(await open.type(""), { triesLeft: 1 });
      assertEquals(await open.type(wrong), { triesLeft: 0 });
      assertEquals(await endOf(open), "wrong digits");
      await assertRejects(() => open.type(thief.digits), Error, "is over");
      await assertRejects(() => thief.paired(new AbortController().signal));
      assertEquals(labels(side), ["Pixel"]);
    },
  ),
  attack("threat 23: a link of five minutes ago", async (side) => {
    const link = await side.link();
    side.pass(LIMITS.pairMs + 1);
    const late = () => beginPairing(link, side.send, "Late", false);
    await assertRejects(late, RefusedError);
  }),
  attack("threat 23: digits of five minutes ago", async (side) => {
    const open = await side.approvals.pair(TARGET);
    const link = readLink(open.link);
    const begun = await beginPairing(link, side.send, "Slow", false);
    side.pass(LIMITS.pairMs + 1);
    await assertRejects(() => open.type(begun.digits), Error, "is over");
    assertEquals(await endOf(open), "expired");
    assertEquals(labels(side), ["Pixel"]);
  }),
  attack("threat 23: a link that another has replaced", async (side) => {
    const open = await side.approvals.pair(TARGET);
    const begun = await beginPairing(
      readLink(open.link),
      side.send,
      "First",
      false,
    );
    const link = await side.link();
    assertEquals(await endOf(open), "replaced");
    await assertRejects(() => open.type(begun.digits), Error, "is over");
    const old = () =>
      beginPairing(readLink(open.link), side.send, "Old", false);
    await assertRejects(old, RefusedError);
    await beginPairing(link, side.send, "Second", false);
  }),
  attack(
    "threat 23: a pairing that is cancelled while it is stored",
    async (side) => {
      const open = await side.approvals.pair(TARGET);
      const link = readLink(open.link);
      const begun = await beginPairing(link, side.send, "Regretted", false);
      const typed = open.type(begun.digits);
      open.cancel();
      await assertRejects(() => typed, Error, "is over");
      assertEquals(await endOf(open), "cancelled");
      assertEquals(labels(side), ["Pixel"]);
      // The second has the token of the link, by which the device gets its refusal.
      const [, ...others] = side.approvals.verifiers;
      assertEquals(others.map(({ id }) => id), ["pairing"]);
      const wait = begun.paired(new AbortController().signal);
      await assertRejects(() => wait, RefusedError);
    },
  ),
  attack("threat 23: keys that were paired before", async (side, phone) => {
    const open = await side.approvals.pair(TARGET);
    const link = readLink(open.link);
    const hello = await helloOf(phone.self, link, phone);
    const answer = await side.approvals.handle(hello);
    const { payload } = await readMessage(
      answer,
      ["code"],
      phone.self,
      phone.computer,
    );
    const digits = await pairingDigits(
      link.secret,
      link.id,
      phone.self.pub,
      fromBase64url(Object(payload).nonce),
    );
    await assertRejects(() => open.type(digits), Error, "used its keys before");
    assertEquals(labels(side), ["Pixel"]);
    open.cancel();
  }),
  attack("threat 23: more devices than eight", async (side) => {
    for (let i = 2; i <= LIMITS.devices; i++) await side.pair(`Pixel ${i}`);
    await assertRejects(() => side.link(), Error, "8 devices already");
  }),
  attack(
    "threat 25: a yes for the Computer of somebody else",
    async (side, phone) => {
      const call = side.ask();
      const yes = await yesOf(side, phone);
      // What the phone has for the other Computer: other keys, and another id.
      const keys = await newKeys(false);
      const pub = await publicKeys(keys);
      const other = { id: await computerId(pub), keys, pub };
      const own = await stranger(other);
      const message = await writeMessage("answer", yes, own, other);
      assertEquals(kindOf(await side.approvals.handle(message)), "refused");
      // Its owner opens it, and seals it again for this Computer.
      assertEquals(
        kindOf(await side.approvals.handle(await forged(phone, yes, own))),
        "refused",
      );
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 27: a copy of the file of keys says no yes",
    async (side, phone) => {
      const { computer, devices } = JSON.parse(
        await readFile(side.file, "utf8"),
      );
      assertEquals(Object.keys(devices[0]).toSorted(), [
        "label",
        "page",
        "paired",
        "seal",
        "sign",
        "token",
      ]);
      const call = side.ask();
      const yes = await yesOf(side, phone);
      // All private keys of the file are the Computer's.
      const keys = await importKeys(computer, "computer");
      const { id, pub } = phone.self;
      const message = await forged(phone, yes, { id, keys, pub });
      assertEquals(kindOf(await side.approvals.handle(message)), "refused");
      await settled();
      assertEquals(call.given, undefined);
    },
  ),
  attack(
    "threat 15: old or made-up news are none for the phone",
    async (side, phone) => {
      const old: Bytes[] = [];
      await poll(phone, async (token, message) => {
        const answer = await side.send(token, message);
        old.push(answer);
        return answer;
      });
      const [before = new Uint8Array()] = old;
      await assertRejects(
        () => poll(phone, () => Promise.resolve(before)),
        Error,
        "an earlier request",
      );
      const made = await stranger(phone.computer);
      const news = {
        re: "n",
        tick: "t",
        name: "laptop",
        questions: [],
        ended: [],
      };
      const message = await writeMessage(
        "news",
        news,
        { ...made, id: phone.computer.id },
        phone.self,
      );
      await assertRejects(() => poll(phone, () => Promise.resolve(message)));
    },
  ),
  attack(
    "threat 22: what the network changes on the way back is no answer",
    async (side, phone) => {
      side.ask();
      const yes = await yesOf(side, phone);
      for (const i of [0, 1, 5, 20, 40, 100, 170, 300]) {
        await assertRejects(() =>
          sendAnswer(phone, async (token, message) => {
            const answer = await side.send(token, message);
            const bit = Uint8Array.of((answer[i] ?? 0) ^ 1);
            return joinBytes(answer.slice(0, i), bit, answer.slice(i + 1));
          }, yes)
        );
      }
    },
  ),
];
