/**
 * The limits of a server: their defaults, the errors for clients over them, the rates of a gateway's
 * clients, and the addresses by which clients are counted.
 *
 * @module
 */
import { isIP, isIPv4, isIPv6 } from "node:net";
import { ErrorCode, ProtocolError } from "../../protocol/errors.ts";
import type { RequestHead } from "../shared/http.ts";
import { TokenBucket } from "../../shared/async.ts";
import { copyOf } from "../../shared/bytes.ts";
import { checkNumbers } from "../../shared/checks.ts";

/** Count and rate limits of a server; a client that exceeds one gets the error 429 (protocol §10). */
export interface Limits {
  /** Open sessions per address; default 100. IPv6 addresses are counted by their /64 network. */
  readonly connectionsPerAddress: number;
  /**
   * Open TCP connections, with or without a session, of servers that `listen` started. The default
   * and maximum leave the process a quarter of its file descriptors (192 to 1024); unlimited where
   * their number is unknown.
   */
  readonly sockets: number;
  /**
   * Open TCP connections per address; default 400 or four times `connectionsPerAddress`, whichever is
   * larger, since a polling session takes two; with a gateway, as many more as `callsPerAgent`, since
   * its clients open one for each call. Not counted with `trustedProxies`: they are the proxy's.
   */
  readonly socketsPerAddress: number;
  /** Events per second of one connection, also the maximum burst; default 1000. */
  readonly eventsPerSecond: number;
  /**
   * Pending calls of one Agent; default 1000, as many as the default rate allows per second, and far
   * more than a model requests at a time.
   */
  readonly callsPerAgent: number;
  /** Members of one office, including its Agent; default 1000, which a notification reaches in about 20 ms. */
  readonly membersPerOffice: number;
  /**
   * Bytes queued for a client that does not read, before it is disconnected; default 32 MiB, four
   * messages of the default maximum size. A single message is always accepted, however large.
   */
  readonly queuedBytes: number;
  /**
   * Bytes of all unfinished WebSocket messages together; default 128 MiB. Beyond that, the connection
   * with the largest one is closed with 1013.
   */
  readonly unfinishedBytes: number;
}

/** The name of a limit. */
export type LimitName = keyof Limits;

/** Returns the name of a limit in errors, metrics and the audit log, such as `events_per_second`. */
export const labelOf = (limit: LimitName): string =>
  limit.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** The default limits. */
export const DEFAULT_LIMITS = {
  connectionsPerAddress: 100,
  sockets: Infinity,
  socketsPerAddress: 400,
  eventsPerSecond: 1000,
  callsPerAgent: 1000,
  membersPerOffice: 1000,
  queuedBytes: 32 * 2 ** 20,
  unfinishedBytes: 128 * 2 ** 20,
} satisfies Limits;

/** No limits, for load tests. */
const UNLIMITED = Object.fromEntries(
  Object.keys(DEFAULT_LIMITS).map((name) => [name, Infinity]),
) as Readonly<Record<LimitName, number>>;

/** Allowed TCP connections for each allowed session of an address. */
const SOCKETS_PER_SESSION = 4;

/**
 * Fills in the defaults of limits.
 *
 * @param wanted `false` removes all limits
 * @param hasGateway whether clients of a gateway connect, too
 * @throws {RangeError} when a limit is less than 1
 * @throws {TypeError} when one is no number
 */
export function resolveLimits(
  wanted: false | Partial<Limits> = {},
  hasGateway = false,
): Limits {
  if (wanted === false) return UNLIMITED;
  const given = { ...DEFAULT_LIMITS, ...wanted };
  for (const [name, value] of Object.entries(given)) {
    checkNumbers({ [`limits.${name}`]: value });
  }
  const { socketsPerAddress: least } = DEFAULT_LIMITS;
  const ofSessions = Math.max(
    least,
    SOCKETS_PER_SESSION * given.connectionsPerAddress,
  );
  const socketsPerAddress = ofSessions + (hasGateway ? given.callsPerAgent : 0);
  const limits = { ...given, socketsPerAddress, ...wanted };
  for (const [name, value] of Object.entries(limits)) {
    if (!(value >= 1)) {
      throw new RangeError(
        `Cannot limit ${name}: expected a number from 1, current value is ${value}`,
      );
    }
  }
  return limits;
}

/**
 * Creates the 429 error for a client over a limit, with the limit's name and value (protocol §10). For a
 * refused request, `details` has that it did not run, and when to try again.
 */
export function overLimit(
  limits: Limits,
  limit: keyof typeof LIMIT_MESSAGES,
): ProtocolError {
  const max = limits[limit];
  const message = LIMIT_MESSAGES[limit](max);
  const retry_in_ms = RETRY_IN_MS[limit]?.(max);
  return new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, message, {
    fields: { limit: labelOf(limit), max },
    ...(retry_in_ms !== undefined && { details: { ran: false, retry_in_ms } }),
  });
}

/** Milliseconds until the rate allows another event, or some call has probably ended. */
const RETRY_IN_MS: Readonly<
  Partial<Record<LimitName, (max: number) => number>>
> = {
  eventsPerSecond: (max) => Math.ceil(1000 / max),
  callsPerAgent: () => 100,
};

const LIMIT_MESSAGES = {
  socketsPerAddress: (max: number) =>
    `Too many TCP connections: at most ${max} from one address`,
  connectionsPerAddress: (max: number) =>
    `Too many connections: at most ${max} from one address`,
  eventsPerSecond: (max: number) =>
    `Too many events: at most ${max} per second, send more slowly`,
  callsPerAgent: (max: number) =>
    `Too many calls: at most ${max} may wait for their answers at once`,
} as const;

/** After this time without a request a client is forgotten: its bucket is full again. */
const FORGET_MS = 1000;

/** What a request of a gateway's client waits for: an answer, or nothing but what happens, as a stream. */
export type RequestKind = "call" | "stream";

/**
 * Limits the HTTP requests of each client of a gateway: how many come in a second, and how many of each
 * kind are open at once.
 */
export class RequestRates {
  readonly #limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">;
  readonly #clients = new Map<
    string,
    {
      readonly bucket: TokenBucket;
      readonly open: Record<RequestKind, number>;
      usedAt: number;
    }
  >();
  #sweptAt = -Infinity;

  /** Applies the limits that an Agent of its own would have. */
  constructor(limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">) {
    this.#limits = limits;
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Admits a request.
   *
   * @param client its principal, or its address where clients do not authenticate
   * @param now milliseconds of a monotonic clock
   * @returns what to call when it has ended, or the limit that it exceeds
   */
  take(
    client: string,
    now: number,
    kind: RequestKind = "call",
  ): (() => void) | "eventsPerSecond" | "callsPerAgent" {
    this.#sweep(now);
    const { eventsPerSecond, callsPerAgent } = this.#limits;
    const entry = this.#clients.get(client) ?? {
      bucket: new TokenBucket(eventsPerSecond, now),
      open: { call: 0, stream: 0 },
      usedAt: now,
    };
    this.#clients.set(client, entry);
    entry.usedAt = now;
    if (!entry.bucket.take(now)) return "eventsPerSecond";
    if (entry.open[kind] >= callsPerAgent) return "callsPerAgent";
    entry.open[kind]++;
    return () => void entry.open[kind]--;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < FORGET_MS) return;
    this.#sweptAt = now;
    for (const [client, { open, usedAt }] of this.#clients) {
      const isIdle = open.call + open.stream === 0;
      if (isIdle && now - usedAt >= FORGET_MS) this.#clients.delete(client);
    }
  }
}

/**
 * Returns the address that a request came from (protocol §10).
 *
 * Each trusted proxy appends the address of its own client to `X-Forwarded-For`; entries before
 * those may be forged and are ignored.
 *
 * @param peer the remote address of the TCP connection; empty when it is closed already
 * @param forwarded the `X-Forwarded-For` header
 * @param proxies the number of trusted proxies in front of the server; 0 ignores the header
 */
export function clientAddress(
  peer: string,
  forwarded: string | string[] | undefined,
  proxies: number,
): string {
  if (proxies === 0 || forwarded === undefined) return plain(peer);
  const hops = String(forwarded).split(",")
    .map((hop) => plain(bare(hop.trim())));
  const hop = hops.at(-proxies) ?? hops[0];
  return hop !== undefined && isIP(hop) !== 0 ? copyOf(hop) : plain(peer);
}

/** Returns the address of the client that sent a request; see {@linkcode clientAddress}. */
export const addressOf = (
  { socket, headers }: Pick<RequestHead, "socket" | "headers">,
  { proxies }: { readonly proxies: number },
): string =>
  clientAddress(
    socket.remoteAddress ?? "",
    headers["x-forwarded-for"],
    proxies,
  );

/** Groups addresses for counting: an IPv4 address by itself, IPv6 addresses by their /64 network. */
export function addressGroup(address: string): string {
  // Fast path: this runs for each event of a flood.
  if (!address.includes(":") || !isIPv6(address)) return address;
  return `${expand(address).slice(0, 4).join(":")}::/64`;
}

/** Removes a port, and the brackets of an IPv6 address. */
function bare(hop: string): string {
  const [, address = hop] = /^\[(.*)\](?::\d+)?$/.exec(hop) ??
    /^([^:]*):\d+$/.exec(hop) ?? [];
  return address;
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function plain(address: string): string {
  const [, v4 = ""] = /^::ffff:(.*)$/i.exec(address) ?? [];
  return isIPv4(v4) ? v4 : address;
}

/** Expands an IPv6 address to its groups, without leading zeros. */
function expand(address: string): string[] {
  const [unzoned = ""] = address.toLowerCase().split("%");
  const [head = "", tail = ""] = unzoned.split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":");
  const before = groups(head);
  const after = groups(tail);
  // A dotted IPv4 part stands for two groups.
  const width = before.length + after.length + (unzoned.includes(".") ? 1 : 0);
  const zeros = Array<string>(Math.max(0, 8 - width)).fill("0");
  return [...before, ...zeros, ...after].map((g) => g.replace(/^0+(?=.)/, ""));
}

/**
 * Default minimum upload rate in bytes per second (64 kbit/s): a message of 8 MiB then occupies
 * memory for at most 17 minutes.
 */
export const MIN_UPLOAD_RATE = 8192;

/** Default of `SmcpServerOptions.maxConnectBytes`. */
export const MAX_CONNECT_BYTES = 16 * 1024;
