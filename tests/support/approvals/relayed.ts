/** A Computer with devices that speaks the bare wire, and requests of devices over HTTP. */
import {
  type Bytes,
  randomBytes,
  sha256,
  toBase64url,
  utf8,
  utf8Text,
} from "../../../shared/approvals/bytes.ts";
import {
  connectRaw,
  type RawClient,
  type RawServer,
} from "../wire/raw_client.ts";

/** A device as its owner has it. */
export interface TestDevice {
  readonly id: string;
  /** 32 bytes in base64url. */
  readonly token: string;
  readonly verifier: string;
}

/** Makes a device. */
export async function newDevice(id = "phone"): Promise<TestDevice> {
  const token = randomBytes(32);
  const verifier = toBase64url(await sha256(token));
  return { id, token: toBase64url(token), verifier };
}

/** What the Server is given of devices. */
export const shownOf = (devices: readonly TestDevice[]) =>
  devices.map(({ id, verifier }) => ({ id, verifier }));

/** Returns what a Computer answers to the bytes of a device. */
export type Answering = (text: string, device: string) => string | undefined;

/** Answers "yes to TEXT", and nothing to "wait". */
const YES: Answering = (text) => text === "wait" ? undefined : `yes to ${text}`;

/** A Computer with devices. */
export class RelayedComputer implements AsyncDisposable {
  readonly raw: RawClient;
  /** The requests that it got. */
  readonly asked: Record<string, unknown>[] = [];
  #wake = Promise.withResolvers<void>();

  private constructor(raw: RawClient, answering: Answering) {
    this.raw = raw;
    raw.handle("client:device", (payload, ack) => {
      const request = Object(payload);
      this.asked.push(request);
      this.#wake.resolve();
      const text = answering(
        utf8Text(fromBase64(request.body)),
        request.device,
      );
      if (text === undefined) return;
      ack({ body: toBase64(utf8(text)), req_id: request.req_id });
    });
  }

  /** Joins an office with devices. */
  static async join(
    server: RawServer,
    devices: readonly TestDevice[],
    { office = "north", name = "laptop", answering = YES } = {},
  ): Promise<RelayedComputer> {
    const { url, ...options } = typeof server === "string"
      ? { url: server }
      : server;
    const raw = await connectRaw(url, options);
    const computer = new RelayedComputer(raw, answering);
    const [ok, reason] = await raw.request("server:join_office", {
      role: "computer",
      name,
      office_id: office,
      devices: shownOf(devices),
    });
    if (ok !== true) throw new Error(`cannot join: ${reason}`);
    return computer;
  }

  /** Resolves when it has got a number of requests. */
  async got(count: number): Promise<void> {
    while (this.asked.length < count) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  /** Replaces its devices; resolves with the answer. */
  update(devices: readonly TestDevice[]): Promise<unknown> {
    const request = { computer: "laptop", devices: shownOf(devices) };
    return this.raw.ask("server:update_devices", request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.raw[Symbol.asyncDispose]();
  }
}

/** Sends what a device sends. */
export const postDevice = (
  url: string,
  token: string | undefined,
  body: string | Bytes,
  { path = "/approve/v1/north/laptop", ...init }:
    & { readonly path?: string }
    & RequestInit = {},
): Promise<Response> =>
  fetch(url + path, {
    method: "POST",
    body,
    ...init,
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...init.headers,
    },
  });

/** An answer without what differs by time or connection. */
export async function answerOf(response: Response): Promise<
  {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly text: string;
  }
> {
  const { date: _, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, text: await response.text() };
}

const toBase64 = (bytes: Bytes): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
