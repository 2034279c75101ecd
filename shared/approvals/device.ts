/**
 * The device's side of approvals, for a page and for a program: it opens a link, asks for what is open, and
 * answers.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  randomBytes,
  sameBytes,
  sha256,
  toBase64url,
  utf8,
} from "./bytes.ts";
import { KEY_BYTES } from "./hpke.ts";
import {
  computerId,
  deviceId,
  type Kind,
  kindOf,
  newKeys,
  type Party,
  plainMessage,
  publicKeys,
  readMessage,
  type Self,
  writeMessage,
} from "./message.ts";
import {
  helloMac,
  pairingDigits,
  type PairingLink,
  rendezvousToken,
} from "./pairing.ts";
import type { Payloads } from "./question.ts";

/** Sends one request through the Server; throws where that does not pass it on. */
export type Send = (token: Bytes, message: Bytes) => Promise<Bytes>;

/** What a device knows of a Computer after pairing. */
export interface Pairing {
  readonly self: Self;
  readonly computer: Party;
  /** By which the Server lets the device in. */
  readonly token: Bytes;
  /** The Computer's name when it was paired. */
  readonly name: string;
  /** Where the Computer is: the Server's address, the office, and the name there. */
  readonly url: string;
  readonly office: string;
  readonly route: string;
}

/** The Computer refuses: the device was removed, or nothing it knows fits. */
export class RefusedError extends Error {}

/** The Server does not pass a request on. */
export class NotPassedError extends Error {
  /** How long it asks the device to wait. */
  readonly waitMs: number;

  /**
   * @param retryAfter the header of that name, of which seconds alone are read, and at most a minute: a Server
   * that lies could else keep a device away for good
   */
  constructor(
    status: number,
    retryAfter: unknown,
    why = `The Server answers ${status}`,
  ) {
    super(why);
    this.waitMs = 1_000 * Math.min(Number(retryAfter) || 0, 60);
  }
}

/**
 * Returns after how many ms a device tries again that got no answer: later with each failure, not before the
 * Server allows it, and not all devices behind one address at once.
 *
 * @param failures how often it has failed before, in a row
 * @param error why it failed now
 */
export const retryMs = (failures: number, error: unknown): number =>
  Math.max(
    Math.min(500 * 2 ** failures, 15_000),
    error instanceof NotPassedError ? error.waitMs : 0,
  ) * (1 + Math.random() / 2);

/** A device before its digits were typed at the Computer. */
export interface BeginningPairing {
  /** Six digits, for the person. */
  readonly digits: string;
  /**
   * Waits until the digits were typed.
   *
   * @throws {RefusedError} when the pairing ended without
   */
  paired(signal: AbortSignal): Promise<Pairing>;
}

/**
 * Opens a link.
 *
 * @param link of `smcp-computer pair`
 * @param label what the device calls itself
 * @param isExtractable whether the device's keys can be exported: by a program alone
 * @throws {RefusedError} when the link was used, or is too old
 * @throws {Error} when the keys are not those of the link's Computer
 */
export async function beginPairing(
  link: PairingLink,
  send: Send,
  label: string,
  isExtractable: boolean,
): Promise<BeginningPairing> {
  const token = await rendezvousToken(link.secret);
  const answer = await sendAny(send, token, plainMessage("keys"));
  const keys = answer.slice(2);
  const pub = { sign: keys.slice(0, KEY_BYTES), seal: keys.slice(KEY_BYTES) };
  if (!sameBytes(await computerId(pub), link.id)) {
    throw new Error("What answers is not the Computer of the link");
  }
  const computer: Party = { id: link.id, pub };
  const own = await newKeys(isExtractable);
  const ownPub = await publicKeys(own);
  const self: Self = {
    id: await deviceId(ownPub, link.id),
    keys: own,
    pub: ownPub,
  };
  const session = { self, computer, token };
  const { nonce } = await exchange(session, send, "hello", {
    sign: toBase64url(ownPub.sign),
    seal: toBase64url(ownPub.seal),
    mac: toBase64url(await helloMac(link.secret, link.id, ownPub)),
    label,
  });
  const digits = await pairingDigits(
    link.secret,
    link.id,
    ownPub,
    fromBase64url(nonce),
  );
  const paired = async (signal: AbortSignal): Promise<Pairing> => {
    for (;;) {
      signal.throwIfAborted();
      const answer = await exchange(session, send, "wait", {
        nonce: newNonce(),
        wait: 20_000,
      });
      if (!("token" in answer)) continue;
      return {
        ...session,
        token: fromBase64url(answer.token),
        name: answer.name,
        url: link.url,
        office: link.office,
        route: link.computer,
      };
    }
  };
  return { digits, paired };
}

/** An open question, with the hash that an answer names. */
export interface AskedQuestion {
  readonly hash: string;
  readonly question: string;
  readonly left: number;
  readonly late?: boolean;
}

/** All that is open. */
export interface News extends Omit<Payloads["news"], "questions"> {
  readonly questions: readonly AskedQuestion[];
}

/** Asks for what is open; waits for a change of what the device has. */
export async function poll(
  pairing: Pairing,
  send: Send,
  asking: Omit<Payloads["poll"], "nonce"> = { have: [], wait: 0 },
): Promise<News> {
  const news = await exchange(pairing, send, "poll", {
    nonce: newNonce(),
    ...asking,
  });
  const questions = await Promise.all(news.questions.map(async (each) => ({
    ...each,
    hash: toBase64url(await sha256(utf8(each.question))),
  })));
  return { ...news, questions };
}

/** Answers a question; returns the Computer's word on it. */
export async function sendAnswer(
  pairing: Pairing,
  send: Send,
  answer: Omit<Payloads["answer"], "re">,
): Promise<string> {
  const request = { re: newNonce(), ...answer };
  return (await exchange(pairing, send, "answer", request)).said;
}

/** What answers each request, and whether it repeats the request's nonce. */
interface Exchanges {
  readonly hello: Payloads["code"];
  readonly wait: Payloads["paired"] | { readonly re: string };
  readonly poll: Payloads["news"];
  readonly answer: Payloads["taken"];
}
const ANSWERS: Readonly<Record<keyof Exchanges, readonly Kind[]>> = {
  hello: ["code"],
  wait: ["paired", "wait"],
  poll: ["news"],
  answer: ["taken"],
};

/** Sends a request, and opens its answer. */
async function exchange<K extends keyof Exchanges>(
  { self, computer, token }: Pick<Pairing, "self" | "computer" | "token">,
  send: Send,
  kind: K,
  request: Payloads[K],
): Promise<Exchanges[K]> {
  const message = await writeMessage(kind, request, self, computer);
  const bytes = await sendAny(send, token, message);
  const { payload } = await readMessage(bytes, ANSWERS[kind], self, computer);
  // The Computer's signature vouches for the form.
  const answer = payload as Exchanges[K];
  const { nonce, re = nonce } = Object(request);
  if (kind !== "hello" && (answer as { re?: string }).re !== re) {
    throw new Error("The answer is for an earlier request");
  }
  return answer;
}

async function sendAny(
  send: Send,
  token: Bytes,
  message: Bytes,
): Promise<Bytes> {
  const answer = await send(token, message);
  if (kindOf(answer) !== "refused") return answer;
  throw new RefusedError("The Computer refuses this device");
}

const newNonce = (): string => toBase64url(randomBytes(16));
