/**
 * The pairing that is open: a link with a secret, the keys of the device that opened it first, and six
 * digits that the person types.
 *
 * | state | on | next |
 * | --- | --- | --- |
 * | – | `pair` | waiting, for five minutes |
 * | waiting | the first valid `hello` | typing |
 * | typing | the right digits | paired: stored, and the Server gets the new list |
 * | paired | the device's first poll; the end of the five minutes | – |
 * | typing | the third wrong digits, Ctrl-C | refusing, for what is left of the five minutes |
 * | any | five minutes, `pair` again, the end of the Computer | – |
 *
 * A device that is paired gets its token as often as it asks for it until it has used it: the answer may be
 * lost on the way.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  randomBytes,
  sameBytes,
  toBase64url,
} from "../../shared/approvals/bytes.ts";
import {
  deviceId,
  type Party,
  type PublicKeys,
  readMessage,
  type Self,
  writeMessage,
} from "../../shared/approvals/message.ts";
import {
  helloMac,
  linkText,
  pairingDigits,
  rendezvousToken,
  typedDigits,
} from "../../shared/approvals/pairing.ts";
import { LIMITS } from "../../shared/approvals/question.ts";
import { limitTime } from "../../shared/deadlines.ts";
import { isLoopbackName } from "../../shared/loopback.ts";
import {
  cleanLabel,
  type Device,
  type Devices,
  type DeviceVerifier,
  verifierOf,
} from "./devices.ts";
import { TOKEN_BYTES } from "./saved.ts";
import { Changes, type Now } from "./time.ts";

/** How often the person may type the digits. */
const DIGIT_TRIES = 3;

/** Where the link leads, and where this Computer is. */
export interface PairTarget {
  /** The address of the page. */
  readonly page: string;
  /** The address of the Server. */
  readonly url: string;
  readonly office: string;
  /** The Computer's name there. */
  readonly computer: string;
}

/** How a pairing ended. */
export type PairingEnd =
  | "paired"
  | "expired"
  | "wrong digits"
  | "replaced"
  | "cancelled"
  | "closed";

/** A pairing that waits for a device, and then for its digits. */
export interface OpenPairing {
  /** The link, which is for one device. */
  readonly link: string;
  /** When it ends, in milliseconds since 1970. */
  readonly untilMs: number;
  /** Resolves when a device has opened the link, and shows its digits; never, where none does. */
  readonly opened: Promise<{ readonly label: string }>;
  /** Resolves when it has ended. */
  readonly ended: Promise<PairingEnd>;
  /**
   * Takes the digits that the person typed; `triesLeft` of 0 has ended it.
   *
   * @throws {Error} when no device has opened the link, the pairing has ended, or the file cannot be written
   */
  type(
    digits: string,
  ): Promise<"paired" | { readonly triesLeft: number }>;
  /** Ends it. */
  cancel(): void;
}

/** What pairings need. */
interface PairingParts {
  readonly self: Self;
  readonly devices: Devices;
  readonly now: Now;
  /** Returns the Computer's name, for the device. */
  readonly name: () => string;
  /** Called when the verifiers have changed. */
  readonly changed: () => void;
}

/** The device that opened the link. */
interface Candidate extends Party {
  readonly label: string;
  readonly digits: string;
}

/** Pairs one device at a time. */
export class Pairings {
  readonly #parts: PairingParts;
  #open: Pairing | undefined;

  constructor(parts: PairingParts) {
    this.#parts = parts;
  }

  /** What lets a device in that has opened the link. */
  get verifier(): DeviceVerifier | undefined {
    return this.#open?.verifier;
  }

  /**
   * Opens a pairing, in place of the one that is open.
   *
   * @throws {TypeError} when no device could use the link
   * @throws {Error} when there are too many devices
   */
  async open(target: PairTarget): Promise<OpenPairing> {
    checkAddress(target.page, "page");
    checkAddress(target.url, "Server");
    this.#parts.devices.checkRoom();
    const { self: { id }, changed } = this.#parts;
    const secret = randomBytes(16);
    const verifier = await verifierOf(await rendezvousToken(secret));
    const { page, url, office, computer } = target;
    this.#open?.end("replaced");
    const pairing = new Pairing(
      this.#parts,
      secret,
      { id: "pairing", verifier },
      page,
    );
    this.#open = pairing;
    pairing.gone.then(() => {
      if (this.#open === pairing) this.#open = undefined;
      changed();
    });
    changed();
    return {
      link: linkText(page, { url, office, computer, id, secret }),
      untilMs: Date.now() + LIMITS.pairMs,
      opened: pairing.opened,
      ended: pairing.ended,
      type: (digits) => pairing.type(digits),
      cancel: () => pairing.end("cancelled"),
    };
  }

  /** Answers a device that has opened the link. */
  hello(message: Bytes): Promise<Bytes> {
    return this.#need().hello(message);
  }

  /** Answers whether the digits were typed. */
  wait(message: Bytes): Promise<Bytes> {
    return this.#need().wait(message);
  }

  /** Notes that a device uses its token. */
  used(device: Device): void {
    this.#open?.used(device);
  }

  /** Ends the open pairing with the Computer. */
  close(): void {
    this.#open?.end("closed");
  }

  #need(): Pairing {
    if (this.#open !== undefined) return this.#open;
    throw new Error("No pairing is open");
  }
}

/** One pairing. */
class Pairing {
  readonly #parts: PairingParts;
  readonly #secret: Bytes;
  readonly #page: string;
  readonly verifier: DeviceVerifier;
  readonly #until: number;
  readonly #stopTimer: () => void;
  readonly #changes = new Changes();
  readonly #opened = Promise.withResolvers<{ readonly label: string }>();
  readonly #ended = Promise.withResolvers<PairingEnd>();
  readonly #gone = Promise.withResolvers<void>();
  #state: "waiting" | "typing" | "storing" | "paired" | "gone" = "waiting";
  #triesLeft: number = DIGIT_TRIES;
  #candidate: Candidate | undefined;
  #device: Device | undefined;

  constructor(
    parts: PairingParts,
    secret: Bytes,
    verifier: DeviceVerifier,
    page: string,
  ) {
    this.#parts = parts;
    this.#secret = secret;
    this.verifier = verifier;
    this.#page = page;
    this.#until = parts.now() + LIMITS.pairMs;
    this.#stopTimer = limitTime(LIMITS.pairMs, () => this.end("expired"));
  }

  get opened(): Promise<{ readonly label: string }> {
    return this.#opened.promise;
  }

  get ended(): Promise<PairingEnd> {
    return this.#ended.promise;
  }

  /** Resolves when the link leads nowhere any more: later than `ended`, where a device was paired. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  async hello(message: Bytes): Promise<Bytes> {
    const { self } = this.#parts;
    this.#checkWaiting();
    let pub: PublicKeys | undefined;
    const { payload } = await readMessage(
      message,
      ["hello"],
      self,
      async (payload) => {
        pub = await this.#provenKeys(payload);
        return { id: await deviceId(pub, self.id), pub };
      },
    );
    if (pub === undefined) throw new Error("No keys");
    const id = await deviceId(pub, self.id);
    // Chosen now that the keys are known, or they could be searched for ones with certain digits.
    const nonce = randomBytes(16);
    const digits = await pairingDigits(this.#secret, self.id, pub, nonce);
    const { label: given } = Object(payload);
    const label = cleanLabel(typeof given === "string" ? given : "");
    const candidate = { id, pub, label, digits };
    // First: it fails with keys that are none, which must not use the link.
    const code = { nonce: toBase64url(nonce) };
    const answer = await writeMessage("code", code, self, candidate);
    // A second device may have opened the link meanwhile.
    this.#checkWaiting();
    this.#state = "typing";
    this.#candidate = candidate;
    this.#opened.resolve({ label });
    return answer;
  }

  async wait(message: Bytes): Promise<Bytes> {
    const { self, name } = this.#parts;
    const candidate = this.#candidate;
    if (candidate === undefined) throw new Error("No device opened the link");
    const { payload } = await readMessage(message, ["wait"], self, candidate);
    const { nonce: re, wait } = Object(payload);
    if (this.#state === "typing" || this.#state === "storing") {
      await this.#changes.next(waitMs(wait));
    }
    this.#checkOpen();
    if (this.#device === undefined) {
      return await writeMessage("wait", { re }, self, candidate);
    }
    const { saved: { token } } = this.#device;
    const paired = { re, token, name: name() };
    return await writeMessage("paired", paired, self, candidate);
  }

  /** Takes the digits that the person typed. */
  async type(typed: string): Promise<"paired" | { triesLeft: number }> {
    this.#checkOpen();
    const candidate = this.#candidate;
    if (this.#state !== "typing" || candidate === undefined) {
      throw new Error(
        this.#state === "waiting"
          ? "No device has opened the link yet"
          : "The digits were typed already",
      );
    }
    if (typedDigits(typed) !== candidate.digits) {
      this.#triesLeft--;
      if (this.#triesLeft === 0) this.end("wrong digits");
      return { triesLeft: this.#triesLeft };
    }
    this.#state = "storing";
    try {
      this.#device = await this.#store(candidate);
    } catch (error) {
      if (!this.#isGone) this.#state = "typing";
      throw error;
    }
    if (this.#isGone) {
      // Cancelled or over meanwhile: the person was shown that.
      await this.#parts.devices.remove(this.#device.name);
      throw new Error(OVER);
    }
    this.#state = "paired";
    this.#ended.resolve("paired");
    this.#changes.report();
    this.#parts.changed();
    return "paired";
  }

  /** The device uses its token, so that the link is needed no more. */
  used(device: Device): void {
    if (this.#device === device) this.end("paired");
  }

  end(how: PairingEnd): void {
    this.#state = "gone";
    this.#ended.resolve(how);
    this.#changes.report();
    // A device that shows digits is refused for what is left of the five minutes: without its token it would
    // get the Server's answer, which is that of any absence, and wait on.
    const isRefused = how === "wrong digits" || how === "cancelled";
    if (isRefused && this.#candidate !== undefined) return;
    this.#stopTimer();
    this.#gone.resolve();
  }

  #store({ label, pub }: Candidate): Promise<Device> {
    return this.#parts.devices.add({
      label,
      paired: new Date().toISOString(),
      page: this.#page,
      sign: toBase64url(pub.sign),
      seal: toBase64url(pub.seal),
      token: toBase64url(randomBytes(TOKEN_BYTES)),
    });
  }

  /** Returns the keys of a `hello` whose sender has the secret of the link. */
  async #provenKeys(payload: unknown): Promise<PublicKeys> {
    const { sign, seal, mac } = Object(payload);
    const pub = {
      sign: fromBase64url(String(sign)),
      seal: fromBase64url(String(seal)),
    };
    const { self } = this.#parts;
    const expected = await helloMac(this.#secret, self.id, pub);
    if (sameBytes(fromBase64url(String(mac)), expected)) return pub;
    throw new Error("A hello without the secret of the link");
  }

  #checkWaiting(): void {
    this.#checkOpen();
    if (this.#state === "waiting") return;
    throw new Error("The link was used already");
  }

  #checkOpen(): void {
    if (this.#parts.now() > this.#until) this.end("expired");
    if (this.#isGone) throw new Error(OVER);
  }

  get #isGone(): boolean {
    return this.#state === "gone";
  }
}

const OVER = 'The pairing is over; run "smcp-computer pair" again';

/** Returns how long a request waits, whatever it asks for. */
export const waitMs = (wanted: unknown): number =>
  Math.min(Math.max(Number(wanted) || 0, 0), LIMITS.waitMs);

/** @throws {TypeError} when browsers would offer no cryptography at an address, or others could change it */
function checkAddress(address: string, what: "page" | "Server"): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isSafe = url?.protocol === "https:" ||
    url?.protocol === "http:" && isLoopbackName(url.hostname);
  if (url === undefined || !isSafe) {
    throw new TypeError(
      `The ${what} ${address} cannot be used by a phone: expected an address with https, as browsers offer no cryptography without`,
    );
  }
  if (url.href.includes("#") || url.username !== "" || url.password !== "") {
    throw new TypeError(
      `The ${what} ${url.origin}${url.pathname} cannot be used with a user, a password or a part after "#": leave them out, as the link has its secret there`,
    );
  }
}
