/**
 * Pairs a device with a Computer of the test's own, asks it a question, and takes its answer: a program
 * without a module of any platform, so that each runtime can run it.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  joinBytes,
  randomBytes,
  sameBytes,
  sha256,
  toBase64url,
  utf8,
} from "../../../shared/approvals/bytes.ts";
import {
  beginPairing,
  type Pairing,
  poll,
  type Send,
  sendAnswer,
} from "../../../shared/approvals/device.ts";
import { openSealed, SEALING, sealTo } from "../../../shared/approvals/hpke.ts";
import {
  computerId,
  deviceId,
  kindOf,
  newKeys,
  type Party,
  plainMessage,
  publicKeys,
  readMessage,
  type Self,
  writeMessage,
} from "../../../shared/approvals/message.ts";
import {
  helloMac,
  linkText,
  pairingDigits,
  readLink,
  rendezvousToken,
} from "../../../shared/approvals/pairing.ts";
import type { OptionId, Payloads } from "../../../shared/approvals/question.ts";
import { A_3_1 } from "./rfc9180.ts";

/** A Computer with one question, as far as a device needs one; it checks nothing that a device cannot notice. */
export class PlainComputer {
  readonly self: Self;
  /** The secret of its link. */
  readonly secret = randomBytes(16);
  /** What it asks. */
  readonly question = JSON.stringify({ id: "q", arguments: { path: "/a" } });
  /** The digits that it expects, after `hello`. */
  digits: string | undefined;
  /** Whether they were typed. */
  isPaired = false;
  readonly answers: Payloads["answer"][] = [];
  readonly #token = randomBytes(32);
  #device: Party | undefined;

  private constructor(self: Self) {
    this.self = self;
  }

  static async make(): Promise<PlainComputer> {
    const keys = await newKeys(true);
    const pub = await publicKeys(keys);
    return new PlainComputer({ id: await computerId(pub), keys, pub });
  }

  /** Its link, as a page gets it. */
  get link(): string {
    return linkText("https://approve.example/", {
      url: "https://smcp.example",
      office: "büro",
      computer: "laptop",
      id: this.self.id,
      secret: this.secret,
    });
  }

  /** Answers a request, as the Server would pass it on. */
  readonly send: Send = async (_token, message) => {
    switch (kindOf(message)) {
      case "keys": {
        const { sign, seal } = this.self.pub;
        return plainMessage("keys", sign, seal);
      }
      case "hello":
        return await this.#hello(message);
      default:
        return await this.#known(message);
    }
  };

  async #hello(message: Bytes): Promise<Bytes> {
    const { self, secret } = this;
    const device = Promise.withResolvers<Party>();
    await readMessage(message, ["hello"], self, async (payload) => {
      const hello = payload as Payloads["hello"];
      const pub = {
        sign: fromBase64url(hello.sign),
        seal: fromBase64url(hello.seal),
      };
      const mac = await helloMac(secret, self.id, pub);
      if (!sameBytes(mac, fromBase64url(hello.mac))) throw new Error("mac");
      device.resolve({ id: await deviceId(pub, self.id), pub });
      return await device.promise;
    });
    this.#device = await device.promise;
    const nonce = randomBytes(16);
    const { pub } = this.#device;
    this.digits = await pairingDigits(secret, self.id, pub, nonce);
    const code = { nonce: toBase64url(nonce) };
    return await writeMessage("code", code, self, this.#device);
  }

  async #known(message: Bytes): Promise<Bytes> {
    const device = this.#device;
    if (device === undefined) return plainMessage("refused");
    const { kind, payload } = await readMessage(
      message,
      ["wait", "poll", "answer"],
      this.self,
      device,
    );
    if (kind === "wait") {
      const re = (payload as Payloads["wait"]).nonce;
      return await (this.isPaired
        ? writeMessage(
          "paired",
          {
            re,
            token: toBase64url(this.#token),
            name: "laptop",
          },
          this.self,
          device,
        )
        : writeMessage("wait", { re }, this.self, device));
    }
    if (kind === "poll") {
      const news: Payloads["news"] = {
        re: (payload as Payloads["poll"]).nonce,
        tick: "tick",
        name: "laptop",
        questions: [{ question: this.question, left: 60_000 }],
        ended: [],
      };
      return await writeMessage("news", news, this.self, device);
    }
    const answer = payload as Payloads["answer"];
    this.answers.push(answer);
    const { re, hash } = answer;
    const taken = { re, hash, said: "taken" };
    return await writeMessage("taken", taken, this.self, device);
  }
}

/** Pairs a device with it, as a person who types the right digits. */
export async function pairWith(
  computer: PlainComputer,
  send: Send = computer.send,
): Promise<Pairing> {
  const { digits, paired } = await beginPairing(
    readLink(computer.link),
    send,
    "phone",
    false,
  );
  if (digits !== computer.digits) throw new Error("The digits differ");
  computer.isPaired = true;
  return await paired(new AbortController().signal);
}

/** Asks, and answers; returns the options that the Computer got. */
export async function coreFlow(): Promise<OptionId[]> {
  await checkVector();
  const computer = await PlainComputer.make();
  const pairing = await pairWith(computer);
  const { tick, questions } = await poll(pairing, computer.send);
  for (const { hash, question } of questions) {
    const expected = toBase64url(await sha256(utf8(question)));
    if (hash !== expected) throw new Error("The hash differs");
    const answer = { hash, tick, option: "once" as const };
    const said = await sendAnswer(pairing, computer.send, answer);
    if (said !== "taken") throw new Error(said);
  }
  const token = await rendezvousToken(computer.secret);
  if (token.length !== 32) throw new Error("The token has another length");
  return computer.answers.map(({ option }) => option);
}

/** Imports a pair of keys of a test vector. */
export async function vectorKeys(
  publicKey: Bytes,
  privateKey: Bytes,
): Promise<CryptoKeyPair> {
  const { subtle } = globalThis.crypto;
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: toBase64url(publicKey.slice(1, 33)),
    y: toBase64url(publicKey.slice(33)),
    d: toBase64url(privateKey),
  };
  return {
    publicKey: await subtle.importKey("raw", publicKey, SEALING, true, []),
    privateKey: await subtle.importKey("jwk", jwk, SEALING, false, [
      "deriveBits",
    ]),
  };
}

/** Seals and opens the vector of RFC 9180 A.3.1. */
async function checkVector(): Promise<void> {
  const { info, pkEm, skEm, pkRm, skRm, pt, aad, ct } = A_3_1;
  const context = await sealTo(pkRm, info, await vectorKeys(pkEm, skEm));
  const sealed = await context.seal(pt, aad);
  const keys = await vectorKeys(pkRm, skRm);
  const opened = await openSealed({ keys, enc: pkEm, info, aad, sealed: ct });
  const expected = joinBytes(pkEm, ct, pt);
  if (!sameBytes(joinBytes(context.enc, sealed, opened), expected)) {
    throw new Error("RFC 9180 A.3.1 differs");
  }
}
