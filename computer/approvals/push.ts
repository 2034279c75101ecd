/**
 * Wakes devices by Web Push: a message with nothing but the Computer's name, encrypted for the device
 * (RFC 8291), and signed with the VAPID key that the device gave (RFC 8292), by WebCrypto alone.
 *
 * The device names the address, so it must be one of a known push service; whatever that answers stays
 * unread.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  joinBytes,
  randomBytes,
  sha256,
  toBase64url,
  utf8,
} from "../../shared/approvals/bytes.ts";
import { rawKey, SEALING } from "../../shared/approvals/hpke.ts";
import {
  LIMITS,
  type PushSubscription,
} from "../../shared/approvals/question.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import { post } from "./notify.ts";
import { isPushAddress } from "./wake_addresses.ts";
import { type WakeChannel, wakeSentence } from "./waker.ts";

const { subtle } = globalThis.crypto;

/** Bytes of the padded payload, whatever the name: its length reveals nothing. */
const PAYLOAD_BYTES = 256;
/** The size of a record of RFC 8188, as in RFC 8291's example; there is one record. */
const RECORD_BYTES = 4096;

/** How long a signature for a push service counts: at most a day, and clocks differ. */
const VAPID_SECONDS = 12 * 3600;
/** Where a push service finds out what sends to it: the same for all, as an address of one's own would reveal more. */
const VAPID_CONTACT = "https://jsr.io/@a2c-smcp/sdk";

/** Where and how devices are woken. */
export interface PushOptions {
  /** The Computer's name. */
  readonly name: string;
  /** The id of the Computer. */
  readonly id: Bytes;
  /** Further push services, such as `push.example.com` or `push.example.com:8443`. */
  readonly hosts?: readonly string[];
  /** Returns the devices that can be woken, with their subscriptions. */
  readonly subscriptions: () => Iterable<readonly [string, PushSubscription]>;
  /** Called when a subscription has ended. */
  readonly forget: (
    device: string,
    subscription: PushSubscription,
  ) => void | Promise<void>;
  /** Default: that of this process. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Checks a subscription that a device gave.
 *
 * @throws {TypeError} when a message could not, or must not, be sent by it
 */
export function checkSubscription(
  { endpoint, p256dh, auth, vapid }: PushSubscription,
  hosts: readonly string[] = [],
): void {
  if (!isPushAddress(endpoint, hosts)) {
    throw new TypeError(
      "endpoint: not at a known push service; allow its host with --push-host",
    );
  }
  if (fromBase64url(p256dh).length !== 65) {
    throw new TypeError("p256dh: expected 65 bytes");
  }
  if (fromBase64url(auth).length !== 16) {
    throw new TypeError("auth: expected 16 bytes");
  }
  vapidPoint(vapid);
}

/** Wakes devices by Web Push. */
export class PushChannel implements WakeChannel {
  readonly name = "Web Push";
  readonly #options: PushOptions;

  constructor(options: PushOptions) {
    this.#options = options;
  }

  /** Sends to all devices; a failure of one is logged. */
  async wake(leftMs: number): Promise<void> {
    const all = [...this.#options.subscriptions()];
    await Promise.all(all.map(async ([device, subscription]) => {
      try {
        await this.#send(device, subscription, leftMs);
      } catch (error) {
        log.warn("Waking a device by Web Push failed: {reason}", {
          device,
          reason: reasonOf(error),
        });
      }
    }));
  }

  async #send(
    device: string,
    subscription: PushSubscription,
    leftMs: number,
  ): Promise<void> {
    const { name, id, hosts, forget, fetch = globalThis.fetch } = this.#options;
    checkSubscription(subscription, hosts);
    const { endpoint } = subscription;
    const body = await encryptPush(wakePayload(name), subscription);
    const topic = await sha256(joinBytes(id, utf8(endpoint)));
    const headers = {
      authorization: await vapidHeader(subscription, Date.now()),
      "content-encoding": "aes128gcm",
      "content-type": "application/octet-stream",
      ttl: String(Math.max(0, Math.floor(leftMs / 1000))),
      urgency: "high",
      topic: toBase64url(topic.slice(0, 16)),
    };
    const status = await post(new URL(endpoint), { headers, body }, fetch);
    if (status === 404 || status === 410) {
      return await forget(device, subscription);
    }
    if (status < 200 || status > 299) {
      throw new Error(`the push service answered ${status}`);
    }
  }
}

/** Returns the payload, which the page shows as a notification. */
const wakePayload = (name: string): Bytes =>
  utf8(wakeSentence(name.slice(0, LIMITS.label)));

/** The sender's part of a message that is otherwise random; for test vectors alone. */
interface PushSecrets {
  readonly keys: CryptoKeyPair;
  readonly salt: Bytes;
  /** Bytes of the padded payload. */
  readonly size: number;
}

/**
 * Encrypts a payload for a subscription (RFC 8291), padded to one length.
 *
 * @param secrets for test vectors alone
 * @throws {DOMException} when `p256dh` is no point of the curve
 */
export async function encryptPush(
  payload: Bytes,
  { p256dh, auth }: Pick<PushSubscription, "p256dh" | "auth">,
  secrets?: PushSecrets,
): Promise<Bytes> {
  const { keys, salt, size } = secrets ?? {
    keys: await subtle.generateKey(SEALING, false, ["deriveBits"]),
    salt: randomBytes(16),
    size: PAYLOAD_BYTES,
  };
  const receiver = fromBase64url(p256dh);
  const sender = await rawKey(keys.publicKey);
  const point = await subtle.importKey("raw", receiver, SEALING, false, []);
  const dh = new Uint8Array(
    await subtle.deriveBits(
      { name: "ECDH", public: point },
      keys.privateKey,
      256,
    ),
  );
  const info = joinBytes(utf8("WebPush: info\0"), receiver, sender);
  const secret = await hkdf(dh, fromBase64url(auth), info, 32);
  const raw = await hkdf(
    secret,
    salt,
    utf8("Content-Encoding: aes128gcm\0"),
    16,
  );
  const iv = await hkdf(secret, salt, utf8("Content-Encoding: nonce\0"), 12);
  const key = await subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt"]);
  // 2 ends the content of the last record; zeros after it are padding.
  const padding = new Uint8Array(Math.max(0, size - payload.length - 1));
  const plain = joinBytes(payload, Uint8Array.of(2), padding);
  const sealed = await subtle.encrypt({ name: "AES-GCM", iv }, key, plain);
  const head = new Uint8Array(5);
  new DataView(head.buffer).setUint32(0, RECORD_BYTES);
  head[4] = sender.length;
  return joinBytes(salt, head, sender, new Uint8Array(sealed));
}

/**
 * Returns the header by which a push service lets a message in (RFC 8292).
 *
 * @param now milliseconds since 1970
 */
export async function vapidHeader(
  { endpoint, vapid }: Pick<PushSubscription, "endpoint" | "vapid">,
  now: number,
): Promise<string> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { kty, crv, x, y, d } = vapid;
  const jwk = Object.fromEntries(
    Object.entries({ kty, crv, x, y, d }).filter(([, value]) => value),
  );
  const key = await subtle.importKey("jwk", jwk, algorithm, false, ["sign"]);
  const text = [
    { typ: "JWT", alg: "ES256" },
    {
      aud: new URL(endpoint).origin,
      exp: Math.floor(now / 1000) + VAPID_SECONDS,
      sub: VAPID_CONTACT,
    },
  ].map((part) => toBase64url(utf8(JSON.stringify(part)))).join(".");
  const signature = await subtle.sign(
    { name: "ECDSA", hash: "SHA-256" },
    key,
    utf8(text),
  );
  const jwt = `${text}.${toBase64url(new Uint8Array(signature))}`;
  return `vapid t=${jwt}, k=${toBase64url(vapidPoint(vapid))}`;
}

/** Returns the public key as an uncompressed point; @throws {TypeError} when it is none of P-256 */
function vapidPoint({ kty, crv, x = "", y = "", d = "" }: JsonWebKey): Bytes {
  const parts = [x, y, d].map(fromBase64url);
  if (
    kty !== "EC" || crv !== "P-256" || parts.some(({ length }) => length !== 32)
  ) {
    throw new TypeError("vapid: expected a private JWK of P-256");
  }
  return joinBytes(Uint8Array.of(4), ...parts.slice(0, 2));
}

async function hkdf(
  material: Bytes,
  salt: Bytes,
  info: Bytes,
  bytes: number,
): Promise<Bytes> {
  const key = await subtle.importKey("raw", material, "HKDF", false, [
    "deriveBits",
  ]);
  const algorithm = { name: "HKDF", hash: "SHA-256", salt, info };
  return new Uint8Array(await subtle.deriveBits(algorithm, key, bytes * 8));
}
