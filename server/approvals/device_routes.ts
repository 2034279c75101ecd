/**
 * The HTTP requests of devices: the page, and `POST /approve/v1/OFFICE/COMPUTER`, of which the bytes go to
 * the Computer and come back as its answer. Any page may send it: nothing of the browser is read, and who
 * has the token may.
 *
 * Whatever is wrong with office, Computer and token is answered with one and the same 404.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { answerApprove } from "../../console/approve.ts";
import { Buffer } from "node:buffer";
import {
  DEVICE_BYTES,
  DEVICE_EVENT,
  ErrorCode,
  type ErrorPayload,
  toErrorPayload,
} from "../../protocol/mod.ts";
import {
  hasNoControl,
  isIdentifier,
  isOfficeName,
} from "../../protocol/names.ts";
import { bearerToken } from "../../shared/authorization.ts";
import { limitTime } from "../../shared/deadlines.ts";
import { judgeHost } from "../http/gate.ts";
import { isForDevices } from "../http/host_rule.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import { addressOf } from "../limits/limits.ts";
import { Tries } from "../limits/tries.ts";
import { DEVICE_PROTOCOL, hiddenPeer, olderThan } from "../office/peer.ts";
import type { DeviceRouteParts, DeviceRoutes } from "../doors/approvals.ts";
import {
  type Exchange,
  type Incoming,
  isEncoded,
  notFound,
  toResponse,
} from "../shared/http.ts";
import { Payload } from "../shared/payload.ts";
import type { KnownTokens } from "./known_tokens.ts";

/** The path of the page. */
const PAGE_PATH = "/approve";
/** What the paths of Computers begin with. */
const API_PATH = `${PAGE_PATH}/v1/`;

/** The most requests with a wrong token in a minute, of an address or of a device that is known. */
const MOST_WRONG = { token: 60 };
const MINUTE_SECONDS = "60";

/** After this time no node answers any more: the home of the office waits 30 s for the Computer. */
const GIVE_UP_MS = 35_000;

/** In whose name a device has its seat. */
const DEVICE = "device";

/** Lets any page send requests, without credentials of the browser. */
const CORS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers": "Retry-After",
};
const PREFLIGHT = {
  ...CORS,
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "Authorization, Content-Type",
  "Access-Control-Max-Age": "7200",
};
const NO_STORE = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** What a device asks of which Computer. */
interface DeviceRequest {
  readonly office: string;
  readonly computer: string;
  /** The hash of the token. */
  readonly verifier: string;
  readonly body: Uint8Array;
  readonly address: string;
  /** Aborted when the client is gone, or the Server shuts down. */
  readonly signal: AbortSignal;
}

/** The requests of devices, and the page. */
export class PersonDeviceRoutes implements DeviceRoutes {
  readonly #parts: DeviceRouteParts;
  readonly #known: KnownTokens;
  readonly #tries = new Tries(MOST_WRONG);
  readonly #closing = new AbortController();

  constructor(parts: DeviceRouteParts, known: KnownTokens) {
    this.#parts = parts;
    this.#known = known;
  }

  mount(app: Hono<SmcpEnv>): void {
    app.all(PAGE_PATH, (c) => this.#answer(c));
    app.all(`${PAGE_PATH}/*`, (c) => this.#answer(c));
  }

  close(): void {
    this.#closing.abort();
  }

  async #answer(c: Context<SmcpEnv>): Promise<Response> {
    const { incoming, outgoing }: Partial<Exchange> = c.env ?? {};
    if (incoming === undefined || outgoing === undefined) {
      return toResponse(notFound());
    }
    const { path, method } = c.req;
    const isApi = path.startsWith(API_PATH);
    if (!isApi || method !== "POST") incoming.resume(); // it would hold the connection open
    const refused = this.#judgeHost(incoming);
    if (refused) {
      incoming.resume();
      return refused;
    }
    if (!isApi) return this.#page(path, method, incoming);
    if (method === "OPTIONS") {
      return new Response(null, { status: 204, headers: PREFLIGHT });
    }
    if (method !== "POST") return wrong();
    return await this.#pass(c, { incoming, outgoing });
  }

  /** Under a host name of its own nothing else is served, and elsewhere no approvals. */
  #judgeHost(incoming: Incoming): Response | undefined {
    const { approvalsHost } = this.#parts;
    if (approvalsHost !== undefined) {
      return isForDevices(incoming.headers.host, approvalsHost)
        ? undefined
        : toResponse(notFound());
    }
    const refused = judgeHost(incoming, this.#parts);
    return refused && toResponse(refused);
  }

  #page(path: string, method: string, { headers }: Incoming): Response {
    if (path === `${PAGE_PATH}/`) {
      // Relative: a proxy may have put it somewhere else.
      const headers = { Location: "../approve" };
      return new Response(null, { status: 308, headers });
    }
    return answerApprove({
      method,
      ...(path !== PAGE_PATH && { part: path.slice(PAGE_PATH.length + 1) }),
      ifNoneMatch: headers["if-none-match"],
    });
  }

  async #pass(
    c: Context<SmcpEnv>,
    { incoming, outgoing }: Exchange,
  ): Promise<Response> {
    const address = addressOf(incoming, this.#parts);
    const body = await readBytes(incoming, DEVICE_BYTES.request);
    if (body === undefined) return refuse(413, "The body is too large");
    if (this.#parts.draining()) return shuttingDown();
    const verifier = await verifierOf(incoming.headers.authorization);
    const who = this.#known.whoSends(verifier, address);
    if (this.#tries.isExceeded("token", who)) {
      this.#record(ErrorCode.TOO_MANY_REQUESTS, address);
      return tooMany(MINUTE_SECONDS);
    }
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    const named = namedIn(c.req.path);
    // It counts until the token is found good: many at once are as many in a row.
    const verdict = await this.#tries.judge(
      "token",
      who,
      async () =>
        await this.#ask(
          named && verifier !== undefined
            ? { ...named, verifier, body, address, signal }
            : undefined,
        ),
    );
    if (!("refused" in verdict)) {
      const { response } = verdict;
      if (verifier !== undefined && response.ok) this.#known.add(verifier);
      return response;
    }
    this.#record(ErrorCode.NOT_FOUND, address);
    return wrong();
  }

  #record(code: number, address: string): void {
    const reason = "not the token of a device of that Computer";
    this.#parts.limiter.recordRefusedHandshake("http", {
      code,
      reason,
      address,
    });
  }

  /** Sends a request to its Computer by the home of the office. */
  async #ask(
    request: DeviceRequest | undefined,
  ): Promise<{ response: Response } | { refused: string }> {
    if (request === undefined) return { refused: "nothing" };
    const { office, computer, verifier, body, address, signal } = request;
    const seat = await this.#parts.offices.join(hiddenPeer(DEVICE, address), {
      role: "device",
      name: DEVICE,
      office,
    });
    if ("refused" in seat) {
      // A node without approvals has no devices, as one that has the module and not the option.
      return seat.refused === TOO_OLD.refused
        ? TOO_OLD
        : { response: shuttingDown() };
    }
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const stop = limitTime(GIVE_UP_MS, () => resolve(LATE));
    const end = () => resolve(SHUT_DOWN);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    else {
      const req_id = crypto.randomUUID();
      const text = Buffer.from(body).toString("base64");
      const asked = { computer, verifier, req_id, body: text };
      seat.receive(
        DEVICE_EVENT,
        Payload.of(asked),
        (answer) =>
          resolve(answer instanceof Payload ? answer.parse() : SHUT_DOWN),
      );
    }
    const answer = await promise;
    stop();
    signal.removeEventListener("abort", end);
    seat.gone();
    return answered(answer);
  }
}

const TOO_OLD = olderThan(DEVICE_PROTOCOL);
const LATE: ErrorPayload = { code: ErrorCode.TIMEOUT, message: "late" };
const SHUT_DOWN: ErrorPayload = { code: 503, message: "shutting down" };

/** Converts what the home of the office answers. */
function answered(
  answer: unknown,
): { response: Response } | { refused: string } {
  const error = toErrorPayload(answer);
  if (error === undefined) {
    const bytes = Buffer.from(String(Object(answer).body), "base64");
    const headers = {
      ...CORS,
      ...NO_STORE,
      "Content-Type": "application/octet-stream",
    };
    return { response: new Response(new Uint8Array(bytes), { headers }) };
  }
  const { code, message } = error;
  const { details, reason } = Object(answer);
  switch (code) {
    case ErrorCode.NOT_FOUND:
      return { refused: message };
    case ErrorCode.TOO_MANY_REQUESTS: {
      const ms = Number(Object(details).retry_in_ms) || 1_000;
      return { response: tooMany(String(Math.ceil(ms / 1_000))) };
    }
    case ErrorCode.TIMEOUT:
      return { response: refuse(504, "The Computer did not answer in time") };
    case SHUT_DOWN.code:
      return { response: shuttingDown() };
    default:
      return {
        response: reason === "server shutting down"
          ? shuttingDown()
          : refuse(502, "The Computer's answer is invalid"),
      };
  }
}

function refuse(
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ code, message }), {
    status: code,
    headers: {
      ...CORS,
      ...NO_STORE,
      "Content-Type": "application/json",
      ...headers,
    },
  });
}

/** The one answer to a wrong office, Computer, token or path. */
const wrong = (): Response => refuse(404, "Not found");

const shuttingDown = (): Response =>
  refuse(503, "The Server is not ready", { "Retry-After": "1" });

const tooMany = (seconds: string): Response =>
  refuse(429, "Too many requests", { "Retry-After": seconds });

/** Returns the office and the Computer of a path; undefined where none can have such names. */
function namedIn(
  path: string,
): Pick<DeviceRequest, "office" | "computer"> | undefined {
  const parts = path.slice(API_PATH.length).split("/");
  if (parts.length !== 2 || !isEncoded(path)) return undefined;
  const [office = "", computer = ""] = parts.map(decodeURIComponent);
  const isName = isIdentifier(computer) && hasNoControl(computer);
  return isName && isOfficeName(office) ? { office, computer } : undefined;
}

/** Returns the hash of a token of 32 bytes; undefined where the header has none. */
async function verifierOf(
  authorization: string | undefined,
): Promise<string | undefined> {
  const token = bearerToken(authorization);
  if (token === undefined || !/^[\w-]{43}$/.test(token)) return undefined;
  const bytes = Buffer.from(token, "base64url");
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Buffer.from(hash).toString("base64url");
}

/**
 * Reads a body, also one that is too large, since a refusal before its end would not arrive.
 *
 * @returns undefined for one that is too large, or ended early
 */
async function readBytes(
  incoming: Incoming,
  most: number,
): Promise<Uint8Array | undefined> {
  if (Number(incoming.headers["content-length"]) > most) {
    incoming.resume();
    return undefined;
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of incoming) {
      size += chunk.length;
      if (size <= most) chunks.push(chunk);
    }
  } catch { // its client is gone, and reads no answer
    return undefined;
  }
  return size > most ? undefined : Buffer.concat(chunks);
}
