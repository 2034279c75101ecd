/**
 * The forms of devices and permissions in the file of keys, and their checks.
 *
 * @module
 */
import { isRecord } from "../../protocol/names.ts";
import {
  type Bytes,
  fromBase64url,
  toBase64url,
} from "../../shared/approvals/bytes.ts";
import { KEY_BYTES, SEALING } from "../../shared/approvals/hpke.ts";
import { deviceId, SIGNING } from "../../shared/approvals/message.ts";
import type { PushSubscription } from "../../shared/approvals/question.ts";
import type { Permission } from "../rules/permissions.ts";
import { checkSubscription } from "./push.ts";

/** Bytes of a token. */
export const TOKEN_BYTES = 32;

/** A device as the file has it; bytes are base64url. */
export interface SavedDevice {
  readonly label: string;
  /** When it was paired, as an ISO date. */
  readonly paired: string;
  /** The page of its link, which may be another one by now. */
  readonly page?: string;
  /** Its public keys. */
  readonly sign: string;
  readonly seal: string;
  /** By which the Server lets it in. */
  readonly token: string;
  /** How to wake it. */
  readonly push?: PushSubscription;
}

/**
 * Checks the devices of a file.
 *
 * @throws {Error} that names the field and the problem
 */
export async function savedDevices(
  data: unknown,
  computer: Bytes,
  most: number,
): Promise<SavedDevice[]> {
  if (!Array.isArray(data) || data.length > most) {
    throw new Error(`devices: expected a list of at most ${most}`);
  }
  const ids = new Set<string>();
  const devices: SavedDevice[] = [];
  for (const [i, each] of data.entries()) {
    const device = await savedDevice(each, `devices.${i}`);
    const id = toBase64url(
      await deviceId({
        sign: fromBase64url(device.sign),
        seal: fromBase64url(device.seal),
      }, computer),
    );
    if (ids.has(id)) throw new Error(`devices.${i}: is there twice`);
    ids.add(id);
    devices.push(device);
  }
  return devices;
}

async function savedDevice(data: unknown, at: string): Promise<SavedDevice> {
  if (!isRecord(data)) throw new Error(`${at}: expected an object`);
  const { label, paired, page, push } = data;
  if (typeof label !== "string" || label === "") {
    throw new Error(`${at}.label: expected a text`);
  }
  if (typeof paired !== "string" || Number.isNaN(Date.parse(paired))) {
    throw new Error(`${at}.paired: expected an ISO date`);
  }
  if (page !== undefined && !(typeof page === "string" && URL.canParse(page))) {
    throw new Error(`${at}.page: expected an address`);
  }
  return {
    label,
    paired,
    ...(typeof page === "string" && { page }),
    sign: await savedKey(data.sign, SIGNING, `${at}.sign`),
    seal: await savedKey(data.seal, SEALING, `${at}.seal`),
    token: savedBytes(data.token, TOKEN_BYTES, `${at}.token`),
    ...(push !== undefined && { push: savedPush(push, `${at}.push`) }),
  };
}

async function savedKey(
  data: unknown,
  algorithm: EcKeyImportParams,
  at: string,
): Promise<string> {
  const text = savedBytes(data, KEY_BYTES, at);
  try {
    await crypto.subtle.importKey(
      "raw",
      fromBase64url(text),
      algorithm,
      true,
      algorithm.name === SIGNING.name ? ["verify"] : [],
    );
    return text;
  } catch {
    throw new Error(`${at}: expected a public key of P-256`);
  }
}

function savedBytes(data: unknown, length: number, at: string): string {
  try {
    if (typeof data === "string" && fromBase64url(data).length === length) {
      return data;
    }
  } catch {
    // The same error as for another length.
  }
  throw new Error(`${at}: expected ${length} bytes in base64url`);
}

/** A host that was allowed when the subscription was stored may be left out today; sending checks it. */
function savedPush(data: unknown, at: string): PushSubscription {
  try {
    return readPush(data);
  } catch (error) {
    throw new Error(`${at}: ${Object(error).message}`);
  }
}

/**
 * Reads a subscription; of its keys only what is needed stays.
 *
 * @param hosts further push services; without them any host is taken
 * @throws {TypeError} when a message could not, or must not, be sent by it
 */
export function readPush(
  data: unknown,
  hosts?: readonly string[],
): PushSubscription {
  const { endpoint, p256dh, auth, vapid } = Object(data);
  const texts: readonly unknown[] = [endpoint, p256dh, auth];
  if (texts.some((text) => typeof text !== "string")) {
    throw new TypeError("expected endpoint, p256dh and auth as texts");
  }
  const { kty, crv, x, y, d } = Object(vapid);
  const push = { endpoint, p256dh, auth, vapid: { kty, crv, x, y, d } };
  const isJwk = Object.values(push.vapid)
    .every((field) => typeof field === "string" && field.length <= 64);
  if (!isJwk) throw new TypeError("vapid: expected a private JWK of P-256");
  const own = URL.canParse(endpoint) ? [new URL(endpoint).host] : [];
  checkSubscription(push, hosts ?? own);
  return push;
}

/**
 * Checks the permissions of a file.
 *
 * @throws {Error} that names the field and the problem
 */
export function savedPermissions(data: unknown): Permission[] {
  if (!Array.isArray(data)) throw new Error("permissions: expected a list");
  return data.map((each, i) => savedPermission(each, `permissions.${i}`));
}

/** The fields that every permission has. */
const TEXTS = [
  "id",
  "agent",
  "bundleId",
  "tool",
  "covers",
  "definition",
  "configuration",
] as const satisfies readonly (keyof Permission)[];

/** What ends a permission, or narrows it: one that is for an hour has all of it. */
const BOUNDS = ["untilMs", "usesLeft", "fixed"] as const;
const FIELDS = new Set<string>([
  ...TEXTS,
  ...BOUNDS,
  "given",
  "operator",
  "open",
]);

function savedPermission(data: unknown, at: string): Permission {
  if (!isRecord(data)) throw new Error(`${at}: expected an object`);
  const stray = Object.keys(data).find((name) => !FIELDS.has(name));
  if (stray !== undefined) {
    throw new Error(`${at}.${stray}: unknown field; remove the permission`);
  }
  const { given, operator, untilMs, usesLeft, fixed, open } = data;
  const text = (name: keyof Permission) =>
    savedText(data[name], `${at}.${name}`);
  const number = (name: keyof Permission) =>
    savedNumber(data[name], `${at}.${name}`);
  if (given !== "hour" && given !== "always") {
    throw new Error(`${at}.given: expected "hour" or "always"`);
  }
  const lacks = BOUNDS.find((name) => data[name] === undefined);
  if (given === "hour" && lacks !== undefined) {
    throw new Error(`${at}.${lacks}: is missing; remove the permission`);
  }
  if (fixed !== undefined && !isRecord(fixed)) {
    throw new Error(`${at}.fixed: expected an object`);
  }
  return {
    id: text("id"),
    given,
    agent: text("agent"),
    ...(operator !== undefined && { operator: text("operator") }),
    bundleId: text("bundleId"),
    tool: text("tool"),
    covers: text("covers"),
    ...(untilMs !== undefined && { untilMs: number("untilMs") }),
    ...(usesLeft !== undefined && { usesLeft: number("usesLeft") }),
    ...(fixed !== undefined && { fixed }),
    ...(open !== undefined && { open: text("open") }),
    definition: text("definition"),
    configuration: text("configuration"),
  };
}

function savedText(data: unknown, at: string): string {
  if (typeof data === "string") return data;
  throw new Error(`${at}: expected a text`);
}

function savedNumber(data: unknown, at: string): number {
  if (typeof data === "number" && Number.isFinite(data)) return data;
  throw new Error(`${at}: expected a number`);
}
