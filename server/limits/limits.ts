import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

/** Counts and rates that a server allows; over one of them a client hears 429 (spec §10). */
export interface Limits {
  /** Sessions open at once from one address; default 100. IPv6 addresses count by their /64. */
  readonly connectionsPerAddress: number;
  /**
   * TCP connections open at once, with a session or without, of servers that `listen` makes; default
   * and at most as many as leave the process a quarter of its descriptors (192 to 1024), or any number
   * where that cannot be found out.
   */
  readonly sockets: number;
  /**
   * TCP connections open at once from one address; default 400, or four times
   * `connectionsPerAddress` where that is more, since a session over polling takes two. Behind `trustedProxies` they are the proxy's, and not counted.
   */
  readonly socketsPerAddress: number;
  /** Events per second of one connection, and how many may come at once; default 1000. */
  readonly eventsPerSecond: number;
  /**
   * Calls of one Agent that wait for a Computer's answer; default 1000: all that an Agent can send
   * in a second at the default rate, and far more than one model asks for at once.
   */
  readonly callsPerAgent: number;
  /** Members of one office, its Agent included; default 1000, which a notice reaches in about 20 ms. */
  readonly membersPerOffice: number;
  /**
   * Bytes that wait for a client which does not read them, before it is cut off; default 32 MiB,
   * four messages of the default size. A single message is always taken, however large.
   */
  readonly queuedBytes: number;
  /**
   * Bytes that all messages together hold which have begun to come over WebSockets and not ended;
   * default 128 MiB. Over it the connection with the largest of them is closed with 1013.
   */
  readonly unfinishedBytes: number;
}

/** Which of the limits. */
export type LimitName = keyof Limits;

/** The name of a limit as errors, metrics and the audit log write it: `events_per_second`. */
export const labelOf = (limit: LimitName): string =>
  limit.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

/** What applies unless the operator says otherwise. */
export const DEFAULT_LIMITS: Limits = {
  connectionsPerAddress: 100,
  sockets: Infinity,
  socketsPerAddress: 400,
  eventsPerSecond: 1000,
  callsPerAgent: 1000,
  membersPerOffice: 1000,
  queuedBytes: 32 * 2 ** 20,
  unfinishedBytes: 128 * 2 ** 20,
};

/** TCP connections for each session that an address may have. */
const SOCKETS_PER_SESSION = 4;

/** Every count and rate lifted, for load tests. */
const UNLIMITED: Limits = {
  connectionsPerAddress: Infinity,
  sockets: Infinity,
  socketsPerAddress: Infinity,
  eventsPerSecond: Infinity,
  callsPerAgent: Infinity,
  membersPerOffice: Infinity,
  queuedBytes: Infinity,
  unfinishedBytes: Infinity,
};

/**
 * Completes what an operator set.
 *
 * @param wanted `false` lifts them all
 * @throws {RangeError} when a limit is less than 1, or no number
 */
export function resolveLimits(wanted: false | Partial<Limits> = {}): Limits {
  if (wanted === false) return UNLIMITED;
  const { connectionsPerAddress } = { ...DEFAULT_LIMITS, ...wanted };
  const limits = {
    ...DEFAULT_LIMITS,
    socketsPerAddress: Math.max(
      DEFAULT_LIMITS.socketsPerAddress,
      SOCKETS_PER_SESSION * connectionsPerAddress,
    ),
    ...wanted,
  };
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
 * The 429 error sent to a client over a limit, with the limit's name and value beside the code
 * (spec §10). Where a request was refused, `details` says that nothing of it ran, and when another
 * attempt is worth it.
 */
export function overLimit(
  limits: Limits,
  limit: keyof typeof LIMIT_MESSAGES,
): ProtocolError {
  const max = limits[limit];
  const retryInMs = RETRY_IN_MS[limit]?.(max);
  return new ProtocolError(
    ErrorCode.TOO_MANY_REQUESTS,
    LIMIT_MESSAGES[limit](max),
    {
      fields: { limit: labelOf(limit), max },
      ...(retryInMs !== undefined &&
        { details: { ran: false, retry_in_ms: retryInMs } }),
    },
  );
}

/** Milliseconds: until the rate allows one more, or some call is likely to have ended. */
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
