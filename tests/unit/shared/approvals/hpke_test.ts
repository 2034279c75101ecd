import { assertEquals, assertRejects } from "@std/assert";
import {
  Aes128Gcm,
  CipherSuite,
  DhkemP256HkdfSha256,
  HkdfSha256,
} from "@hpke/core";
import {
  type Bytes,
  joinBytes,
  randomBytes,
  utf8,
} from "../../../../shared/approvals/bytes.ts";
import {
  hmac,
  openSealed,
  rawKey,
  SEALING,
  sealTo,
} from "../../../../shared/approvals/hpke.ts";
import { coreFlow, vectorKeys } from "../../../support/approvals/core_flow.ts";
import { A_3_1, hex } from "../../../support/approvals/rfc9180.ts";

const { subtle } = globalThis.crypto;

const suite = new CipherSuite({
  kem: new DhkemP256HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes128Gcm(),
});

const newPair = (isExtractable = false): Promise<CryptoKeyPair> =>
  subtle.generateKey(SEALING, isExtractable, ["deriveBits"]);

const LENGTHS = [0, 1, 16, 255, 65_536];

Deno.test("sealTo() writes the vector of RFC 9180 A.3.1 to the byte", async () => {
  const { info, pkEm, skEm, pkRm, pt, aad, ct } = A_3_1;
  const { enc, seal } = await sealTo(pkRm, info, await vectorKeys(pkEm, skEm));
  assertEquals(enc, pkEm);
  assertEquals(await seal(pt, aad), ct);
});

Deno.test("openSealed() opens the vector of RFC 9180 A.3.1, and no other aad, info or receiver", async () => {
  const { info, pkEm, skEm, pkRm, skRm, pt, aad, ct } = A_3_1;
  const message = {
    keys: await vectorKeys(pkRm, skRm),
    enc: pkEm,
    info,
    aad,
    sealed: ct,
  };
  assertEquals(await openSealed(message), pt);
  const others = [
    { aad: utf8("Count-1") },
    { info: utf8("another") },
    { keys: await newPair() },
    { enc: await rawKey((await newPair()).publicKey) },
    { keys: await vectorKeys(pkEm, skEm) },
    { sealed: ct.slice(1) },
    { sealed: new Uint8Array() },
  ];
  for (const other of others) {
    await assertRejects(() => openSealed({ ...message, ...other }));
  }
});

Deno.test("@hpke/core opens what sealTo() seals", async () => {
  for (const length of LENGTHS) {
    const keys = await newPair(true);
    const info = randomBytes(40);
    const aad = randomBytes(9);
    const plain = bytes(length);
    const { enc, seal } = await sealTo(await rawKey(keys.publicKey), info);
    const sealed = await seal(plain, aad);
    const recipient = await suite.createRecipientContext({
      recipientKey: keys,
      enc,
      info,
    });
    assertEquals(new Uint8Array(await recipient.open(sealed, aad)), plain);
  }
});

Deno.test("openSealed() opens what @hpke/core seals, with keys that cannot be exported", async () => {
  for (const length of LENGTHS) {
    const keys = await newPair();
    const info = randomBytes(40);
    const aad = randomBytes(9);
    const plain = bytes(length);
    const sender = await suite.createSenderContext({
      recipientPublicKey: keys.publicKey,
      info,
    });
    const sealed = new Uint8Array(await sender.seal(plain, aad));
    const enc = new Uint8Array(sender.enc);
    assertEquals(await openSealed({ keys, enc, info, aad, sealed }), plain);
    await assertRejects(() => subtle.exportKey("jwk", keys.privateKey));
  }
});

Deno.test("sealTo() makes another key for each message, and refuses what is no point of the curve", async () => {
  const recipient = await rawKey((await newPair()).publicKey);
  const messages = [];
  for (let i = 0; i < 3; i++) {
    const { enc, seal } = await sealTo(recipient, utf8("info"));
    messages.push(joinBytes(enc, await seal(utf8("same"), utf8(""))));
  }
  assertEquals(new Set(messages.map((each) => each.toHex())).size, 3);
  const off = recipient.slice();
  off[64] = (off[64] ?? 0) ^ 1;
  for (const wrong of [off, new Uint8Array(65), recipient.slice(1), bytes(0)]) {
    await assertRejects(() => sealTo(wrong, utf8("info")));
  }
});

Deno.test("hmac() takes an empty key, as HKDF without a salt needs it", async () => {
  // RFC 2104 fills a short key up with zeros.
  const zeros = await hmac(new Uint8Array(64), utf8("data"));
  assertEquals(await hmac(new Uint8Array(), utf8("data")), zeros);
  // RFC 4231, test case 2.
  const mac = await hmac(utf8("Jefe"), utf8("what do ya want for nothing?"));
  assertEquals(
    mac,
    hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
  );
});

Deno.test("a device pairs, sees a question, and answers it", async () => {
  assertEquals(await coreFlow(), ["once"]);
});

/** Bytes that are not random, of any length. */
const bytes = (length: number): Bytes =>
  new Uint8Array(length).map((_, at) => at % 251);
