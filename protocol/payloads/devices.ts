/**
 * Approvals by a person's device (protocol §17), an extension: a Computer gives the Server hashes of its
 * devices' tokens, and the Server passes on what devices send, which it cannot read.
 *
 * @module
 */
import * as z from "../validation.ts";

/** The most devices of a Computer that a Server knows: eight that are paired, and one that is being paired. */
export const MAX_DEVICES = 9;

/** The most bytes that a device sends, and that a Computer answers. */
export const DEVICE_BYTES = { request: 65_536, answer: 524_288 } as const;

/** A device as the Server knows it. */
export interface DeviceVerifier {
  /** Names it in the audit log and for limits: 1 to 64 letters, digits, `_` and `-`. */
  id: string;
  /** The SHA-256 of its token, in base64url without padding. */
  verifier: string;
}

/** Replaces the devices of a Computer (protocol §17). */
export interface UpdateDevicesReq {
  /** The sender's own name. */
  computer: string;
  /** All of them, at most {@linkcode MAX_DEVICES}. */
  devices: DeviceVerifier[];
}

/** The answer: the Server has approvals. */
export interface UpdateDevicesRet {
  /** The number of devices that the Server knows now. */
  devices: number;
  /** The host name under which alone devices reach the Server, in place of that of its URL. */
  host?: string;
}

/** What a device has sent to its Computer (protocol §17). */
export interface DeviceReq {
  /** `device`; no Agent. */
  agent: string;
  /** The id of the request. */
  req_id: string;
  /** The Computer. */
  computer: string;
  /** The id of the {@linkcode DeviceVerifier} that fits. */
  device: string;
  /** At most 64 KiB, in base64. */
  body: string;
}

/** The Computer's answer. */
export interface DeviceRet {
  /** At most 512 KiB, in base64. */
  body: string;
  /** The `req_id` of the request. */
  req_id: string;
}

const bytesOf = (most: number) =>
  z.string().check(z.refine(
    (text) =>
      text.length <= 4 * Math.ceil(most / 3) && text.length % 4 === 0 &&
      /^[A-Za-z\d+/]*={0,2}$/.test(text),
    `expected base64 of at most ${most} bytes`,
  ));

const verifier = z.looseObject({
  id: z.string().check(z.refine(
    (text) => /^[\w-]{1,64}$/.test(text),
    'expected 1 to 64 letters, digits, "_" and "-"',
  )),
  verifier: z.string().check(z.refine(
    (text) => /^[\w-]{43}$/.test(text),
    "expected 32 bytes in base64url without padding",
  )),
});

/** The `devices` of a Computer. */
export const devices = z.array(verifier).check(
  z.refine(
    (list) => list.length <= MAX_DEVICES,
    `expected at most ${MAX_DEVICES}`,
  ),
);

/** The parsers of `server:update_devices`. */
export const updateDevices = z.routed<UpdateDevicesReq, UpdateDevicesRet>(
  z.looseObject({ computer: z.memberName, devices }),
  z.looseObject({ devices: z.count, host: z.exactOptional(z.string()) }),
);

/** Makes the parsers of `client:device`: when they are used, so that bundles of Agents are without them. */
const deviceParsers = () =>
  z.routed<DeviceReq, DeviceRet>(
    z.computerCall({
      device: z.string(),
      body: bytesOf(DEVICE_BYTES.request),
    }),
    z.answer({ body: bytesOf(DEVICE_BYTES.answer) }),
  );
let parsers: ReturnType<typeof deviceParsers> | undefined;

/** Parses a {@linkcode DeviceReq}. */
export const parseDeviceReq = (data: unknown): DeviceReq =>
  (parsers ??= deviceParsers()).parseRequest(data);
/** Parses a {@linkcode DeviceRet}. */
export const parseDeviceRet = (data: unknown): DeviceRet =>
  (parsers ??= deviceParsers()).parseAnswer(data);
