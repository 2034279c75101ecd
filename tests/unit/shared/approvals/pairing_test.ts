import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  joinBytes,
  randomBytes,
  sha256,
  toBase64url,
  utf8,
} from "../../../../shared/approvals/bytes.ts";
import {
  beginPairing,
  poll,
  RefusedError,
  type Send,
  sendAnswer,
} from "../../../../shared/approvals/device.ts";
import { plainMessage } from "../../../../shared/approvals/message.ts";
import {
  helloMac,
  linkText,
  pairingDigits,
  type PairingLink,
  readLink,
  rendezvousToken,
  typedDigits,
} from "../../../../shared/approvals/pairing.ts";
import {
  pairWith,
  PlainComputer,
} from "../../../support/approvals/core_flow.ts";

const LINK: PairingLink = {
  url: "https://smcp.example:8443/base",
  office: "büro 1",
  computer: "laptop/#.",
  id: randomBytes(16),
  secret: randomBytes(16),
};

Deno.test("readLink() reads what linkText() writes, whole or its fragment alone", () => {
  const text = linkText("https://approve.example/approve", LINK);
  const [page, fragment = ""] = text.split("#");
  assertEquals(page, "https://approve.example/approve");
  for (const each of [text, fragment, `#${fragment}`]) {
    assertEquals(readLink(each), LINK);
  }
  assertMatch(fragment, /^1(\.[\w-]+){5}$/);
});

Deno.test("readLink() refuses another version, a part too many or too few, and what is no part of a link", () => {
  const [, ...parts] = linkText("", LINK).split(".");
  const [url, office, computer, id = "", secret = ""] = parts;
  const good = [url, office, computer, id, secret];
  const without = (at: number, part: string) =>
    ["1", ...good.with(at, part)].join(".");
  const wrong = [
    "",
    "1",
    "https://example.com/",
    ["2", ...good].join("."),
    ["1", ...good, ""].join("."),
    ["1", ...good.slice(1)].join("."),
    without(0, ""),
    without(0, toBase64url(utf8("javascript:alert(1)"))),
    without(0, toBase64url(utf8("https://"))),
    without(1, ""),
    without(2, ""),
    without(2, "_w"), // not UTF-8
    without(3, id.slice(0, 20)),
    without(4, `${secret}AAAA`),
    without(4, `${secret}=`),
  ];
  for (const text of wrong) assertThrows(() => readLink(text), TypeError);
});

Deno.test("what is derived from a link's secret differs by purpose, secret, Computer and key", async () => {
  const { secret, id } = LINK;
  const pub = { sign: randomBytes(65), seal: randomBytes(65) };
  const swapped = { sign: pub.seal, seal: pub.sign };
  const derived = [
    await rendezvousToken(secret),
    await rendezvousToken(randomBytes(16)),
    await helloMac(secret, id, pub),
    await helloMac(secret, id, swapped),
    await helloMac(secret, randomBytes(16), pub),
    await helloMac(randomBytes(16), id, pub),
    await sha256(secret),
  ];
  for (const each of derived) assertEquals(each.length, 32);
  assertEquals(new Set(derived.map((each) => each.toHex())).size, 7);
  assertEquals(await rendezvousToken(secret), derived[0]);
});

Deno.test("pairingDigits() are six, and other ones for each nonce, secret, Computer and key", async () => {
  const { secret, id } = LINK;
  const pub = { sign: randomBytes(65), seal: randomBytes(65) };
  const nonce = randomBytes(16);
  const digits = await pairingDigits(secret, id, pub, nonce);
  assertEquals(await pairingDigits(secret, id, { ...pub }, nonce), digits);
  const many = await Promise.all(
    Array.from(
      { length: 200 },
      (_, at) => pairingDigits(secret, id, pub, Uint8Array.of(at)),
    ),
  );
  for (const each of many) assertMatch(each, /^\d{6}$/);
  assert(many.some((each) => each.startsWith("0")), "none was padded");
  assert(new Set(many).size > 190);
  const others = await Promise.all([
    pairingDigits(randomBytes(16), id, pub, nonce),
    pairingDigits(secret, randomBytes(16), pub, nonce),
    pairingDigits(secret, id, { ...pub, seal: randomBytes(65) }, nonce),
  ]);
  // Two of a million digits are rarely equal; three never.
  assert(others.some((each) => each !== digits));
});

Deno.test("typedDigits() are six, also with the spaces and hyphens that people type", () => {
  const rows: [typed: string, digits: string | undefined][] = [
    ["123456", "123456"],
    [" 123 456\n", "123456"],
    ["12-34-56", "123456"],
    ["12345", undefined],
    ["1234567", undefined],
    ["12345x", undefined],
    ["\u0661\u0662\u0663\u0664\u0665\u0666", undefined],
    ["", undefined],
  ];
  for (const [typed, digits] of rows) assertEquals(typedDigits(typed), digits);
});

Deno.test("threat 20: a device pairs with the Computer of its link alone, whatever the Server answers", async () => {
  const computer = await PlainComputer.make();
  const impostor = await PlainComputer.make();
  const link = readLink(computer.link);
  await assertRejects(
    () => beginPairing(link, impostor.send, "phone", false),
    Error,
    "What answers is not the Computer of the link",
  );
  // The Computer's keys, and another's answer to the rest.
  const mixed: Send = (token, message) =>
    message[1] === 1
      ? computer.send(token, message)
      : impostor.send(token, message);
  await assertRejects(() => beginPairing(link, mixed, "phone", false));
  // Another device's proof is worth nothing without the secret.
  const guess = { ...link, secret: randomBytes(16) };
  await assertRejects(
    () => beginPairing(guess, computer.send, "phone", false),
    Error,
    "mac",
  );
  assertEquals(computer.digits, undefined);
});

Deno.test("beginPairing() waits until the digits were typed, and ends with its signal", async () => {
  const computer = await PlainComputer.make();
  let waits = 0;
  const ended = new AbortController();
  const send: Send = async (token, message) => {
    if (message[1] === 4 && ++waits === 3) computer.isPaired = true;
    return await computer.send(token, message);
  };
  const link = readLink(computer.link);
  const { paired } = await beginPairing(link, send, "phone", false);
  const pairing = await paired(ended.signal);
  assertEquals(waits, 3);
  assertEquals(pairing.name, "laptop");
  assertEquals(pairing.route, "laptop");
  assertNotEquals(pairing.token, await rendezvousToken(link.secret));
  ended.abort(new Error("enough"));
  await assertRejects(() => paired(ended.signal), Error, "enough");
});

Deno.test("threat 15: a device takes no news but the answer to its own question", async () => {
  const computer = await PlainComputer.make();
  const pairing = await pairWith(computer);
  const recorded: Promise<Uint8Array<ArrayBuffer>>[] = [];
  const record: Send = (token, message) => {
    const answer = computer.send(token, message);
    recorded.push(answer);
    return answer;
  };
  const { questions } = await poll(pairing, record);
  assertEquals(questions.map(({ question }) => question), [
    computer.question,
  ]);
  const [old = Promise.resolve(joinBytes())] = recorded;
  await assertRejects(
    () => poll(pairing, () => old),
    Error,
    "The answer is for an earlier request",
  );
  const answer = { hash: "h", tick: "t", option: "once" as const };
  await assertRejects(
    () => sendAnswer(pairing, () => old, answer),
    Error,
    "Unexpected kind of message",
  );
});

Deno.test("a device learns that it was refused, and of nothing else that a Server could say", async () => {
  const computer = await PlainComputer.make();
  const pairing = await pairWith(computer);
  const refuse: Send = () => Promise.resolve(plainMessage("refused"));
  await assertRejects(() => poll(pairing, refuse), RefusedError);
  const link = readLink(computer.link);
  await assertRejects(
    () => beginPairing(link, refuse, "phone", false),
    RefusedError,
  );
  const silence: Send = () => Promise.resolve(joinBytes());
  await assertRejects(() => poll(pairing, silence), Error, "Not a message");
});
