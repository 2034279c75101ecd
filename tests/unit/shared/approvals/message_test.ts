import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import {
  type Bytes,
  joinBytes,
  sameBytes,
  utf8,
} from "../../../../shared/approvals/bytes.ts";
import { rawKey, sealTo } from "../../../../shared/approvals/hpke.ts";
import {
  computerId,
  deviceId,
  type Kind,
  kindOf,
  KINDS,
  label,
  newKeys,
  type Party,
  plainMessage,
  publicKeys,
  readMessage,
  type Self,
  senderOf,
  writeMessage,
} from "../../../../shared/approvals/message.ts";

const { subtle } = globalThis.crypto;

/** A Computer, and two devices of it. */
async function sides() {
  const computer = await side((pub) => computerId(pub));
  const device = await side((pub) => deviceId(pub, computer.id));
  const other = await side((pub) => deviceId(pub, computer.id));
  return { computer, device, other };
}

async function side(
  idOf: (pub: Self["pub"]) => Promise<Bytes>,
): Promise<Self> {
  const keys = await newKeys(false);
  const pub = await publicKeys(keys);
  return { id: await idOf(pub), keys, pub };
}

const ANSWER = { option: "no", reason: "é 中 \u{1F600}" };

Deno.test("readMessage() returns the kind and payload that writeMessage() was given", async () => {
  const { computer, device } = await sides();
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const message = await writeMessage(kind, ANSWER, device, computer);
    assertEquals(await readMessage(message, [kind], computer, device), {
      kind,
      payload: ANSWER,
    });
    assertEquals(kindOf(message), kind);
    assertEquals(senderOf(message), device.id);
  }
});

Deno.test("newKeys() makes private keys that cannot be exported, unless a program must keep them", async () => {
  for (const isExtractable of [false, true]) {
    const keys = await newKeys(isExtractable);
    for (const { privateKey } of [keys.sign, keys.seal]) {
      assertEquals(privateKey.extractable, isExtractable);
      const exported = subtle.exportKey("jwk", privateKey);
      if (isExtractable) assertEquals((await exported).kty, "EC");
      else await assertRejects(() => exported);
    }
    assertEquals((await publicKeys(keys)).seal.length, 65);
  }
});

Deno.test("ids of Computers and devices differ with each key, and a device's with its Computer", async () => {
  const { computer, device, other } = await sides();
  const { sign, seal } = device.pub;
  const ids = [
    await computerId(computer.pub),
    await computerId(device.pub),
    await computerId({ sign: seal, seal: sign }),
    await deviceId(device.pub, computer.id),
    await deviceId(device.pub, other.id),
    await deviceId({ sign, seal: other.pub.seal }, computer.id),
    await deviceId({ sign: other.pub.sign, seal }, computer.id),
  ];
  for (const id of ids) assertEquals(id.length, 16);
  assertEquals(new Set(ids.map((id) => id.toHex())).size, ids.length);
});

Deno.test("threat 13: no change of one bit, wherever in the message, leaves an answer that can be read", async () => {
  const { computer, device } = await sides();
  const message = await writeMessage("answer", ANSWER, device, computer);
  const kinds = Object.keys(KINDS) as Kind[];
  for (let at = 0; at < message.length; at++) {
    for (const bit of [at % 8, (at + 3) % 8]) {
      const changed = message.slice();
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      await assertRejects(
        () => readMessage(changed, kinds, computer, device),
        Error,
        undefined,
        `byte ${at}, bit ${bit}`,
      );
    }
  }
});

Deno.test("readMessage() refuses a message that was cut or continued, at each length", async () => {
  const { computer, device } = await sides();
  const message = await writeMessage("answer", ANSWER, device, computer);
  for (let length = 0; length < message.length; length++) {
    const cut = message.slice(0, length);
    await assertRejects(() => readMessage(cut, ["answer"], computer, device));
  }
  const longer = joinBytes(message, Uint8Array.of(0));
  await assertRejects(() => readMessage(longer, ["answer"], computer, device));
});

Deno.test("readMessage() says which rule a message breaks: version, kind, receiver, sender, signature", async () => {
  const { computer, device, other } = await sides();
  const message = await writeMessage("answer", ANSWER, device, computer);
  const read = (bytes: Bytes, kinds: Kind[], to: Self, from: Party) =>
    assertRejects(() => readMessage(bytes, kinds, to, from), Error);
  const version = joinBytes(Uint8Array.of(2), message.slice(1));
  const unknown = joinBytes(Uint8Array.of(1, 99), message.slice(2));
  const impostor = { id: device.id, pub: other.pub };
  const failures = [
    await read(version, ["answer"], computer, device),
    await read(message, ["poll", "wait"], computer, device),
    await read(unknown, ["answer"], computer, device),
    await read(message, ["answer"], other, device),
    await read(message, ["answer"], computer, other),
    await read(message, ["answer"], computer, impostor),
  ];
  assertEquals(failures.map(({ message }) => message), [
    "Not a message of version 1",
    "Unexpected kind of message: 8",
    "Unexpected kind of message: 99",
    "The message is for another receiver",
    "The message is of another sender",
    "The message has a wrong signature",
  ]);
});

Deno.test("readMessage() refuses what somebody sealed who has the public keys alone", async () => {
  const { computer, device, other } = await sides();
  const forged = { id: device.id, pub: device.pub, keys: other.keys };
  const message = await writeMessage("answer", ANSWER, forged, computer);
  await assertRejects(
    () => readMessage(message, ["answer"], computer, device),
    Error,
    "The message has a wrong signature",
  );
});

Deno.test("readMessage() refuses a payload that was signed for another message or receiver", async () => {
  const { computer, device, other } = await sides();
  const head = joinBytes(
    Uint8Array.of(1, KINDS.answer),
    device.id,
    computer.id,
  );
  const context = await sealTo(
    computer.pub.seal,
    joinBytes(label("seal"), head),
  );
  const header = joinBytes(head, context.enc);
  const body = utf8(JSON.stringify(ANSWER).padEnd(256));
  const forOther = joinBytes(
    head.slice(0, 18),
    other.id,
    context.enc,
  );
  // Signed for another receiver, for another kind, and without the purpose.
  const signed = [
    joinBytes(label("message"), forOther, body),
    joinBytes(label("message"), Uint8Array.of(1, 9), header.slice(2), body),
    joinBytes(header, body),
  ];
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const seal = async (text: Bytes) => {
    const key = device.keys.sign.privateKey;
    const signature = new Uint8Array(await subtle.sign(algorithm, key, text));
    const sealed = await context.seal(joinBytes(signature, body), header);
    return joinBytes(header, sealed);
  };
  for (const text of signed) {
    const message = await seal(text);
    await assertRejects(
      () => readMessage(message, ["answer"], computer, device),
      Error,
      "wrong signature",
    );
  }
  const right = await seal(joinBytes(label("message"), header, body));
  const { payload } = await readMessage(right, ["answer"], computer, device);
  assertEquals(payload, ANSWER);
});

Deno.test("readMessage() takes the sender's keys from the payload where its reader has checked them", async () => {
  const { computer, device } = await sides();
  const message = await writeMessage("hello", ANSWER, device, computer);
  const opened = await readMessage(
    message,
    ["hello"],
    computer,
    (payload) => {
      assertEquals(payload, ANSWER);
      return Promise.resolve(device);
    },
  );
  assertEquals(opened.kind, "hello");
  const refusal = new Error("no such secret");
  await assertRejects(
    () =>
      readMessage(message, ["hello"], computer, () => Promise.reject(refusal)),
    Error,
    "no such secret",
  );
});

Deno.test("writeMessage() pads payloads, so that lengths tell little", async () => {
  const { computer, device } = await sides();
  const lengthOf = async (text: string) =>
    (await writeMessage("answer", { text }, device, computer)).length;
  // 99 bytes of header, 64 of signature, 16 of the seal, and 256 or 512.
  assertEquals(await lengthOf(""), 435);
  assertEquals(await lengthOf("x".repeat(256 - 11)), 435);
  assertEquals(await lengthOf("x".repeat(256 - 10)), 435 + 256);
  assertEquals(await lengthOf("é".repeat(256)), 435 + 768);
});

Deno.test("writeMessage() never writes the same bytes twice", async () => {
  const { computer, device } = await sides();
  const write = () => writeMessage("answer", ANSWER, device, computer);
  assertNotEquals(await write(), await write());
});

Deno.test("plainMessage() has version, kind and bytes; kindOf() knows no other kind", async () => {
  const key = await rawKey((await newKeys(false)).seal.publicKey);
  const keys = plainMessage("keys", key);
  assert(sameBytes(keys.slice(2), key));
  assertEquals(kindOf(keys), "keys");
  assertEquals(kindOf(plainMessage("refused")), "refused");
  for (const wrong of [[], [1], [1, 0], [1, 11], [1, 255]]) {
    assertEquals(kindOf(Uint8Array.from(wrong)), undefined);
  }
});
