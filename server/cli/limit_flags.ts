import { Option } from "commander";
import { integer } from "../../cli/integer.ts";
import { DEFAULT_LIMITS, type LimitName } from "../limits/limits.ts";
import { MAX_CONNECT_BYTES } from "../shared/ws_settings.ts";
import type { SmcpServerOptions } from "../options.ts";
import { MIN_UPLOAD_RATE } from "../shared/ws_settings.ts";

const MILLION = 10 ** 6;
const DAY_SECONDS = 86_400;

/** For each limit: its flag without `--max-`, its maximum, and its description. */
const LIMIT_FLAGS: Readonly<
  Record<LimitName, readonly [flag: string, most: number, text: string]>
> = {
  connectionsPerAddress: [
    "connections-per-address",
    MILLION,
    "sessions open at once from one address",
  ],
  sockets: [
    "sockets",
    MILLION,
    "TCP connections open at once (default: what the process's descriptors allow, which is the most in any case)",
  ],
  socketsPerAddress: [
    "sockets-per-address",
    MILLION,
    "TCP connections open at once from one address; not counted behind --trust-proxy (default: 400, or four times --max-connections-per-address where that is more; with --mcp, --max-calls-per-agent in addition)",
  ],
  eventsPerSecond: [
    "events-per-second",
    MILLION,
    "events per second of one connection",
  ],
  callsPerAgent: [
    "calls-per-agent",
    MILLION,
    "calls of one agent that wait for their answers",
  ],
  membersPerOffice: ["members-per-office", MILLION, "members of one office"],
  queuedBytes: [
    "queued-bytes",
    2 ** 40,
    "bytes that wait for a client which does not read, before it is cut off",
  ],
  unfinishedBytes: [
    "unfinished-bytes",
    2 ** 40,
    "bytes of all messages that have not arrived whole, before the largest is cut off",
  ],
};

/** Limits whose defaults depend on the environment or other limits. */
const DERIVED: readonly LimitName[] = ["sockets", "socketsPerAddress"];

const names = Object.keys(LIMIT_FLAGS) as LimitName[];

const keyOf = (flag: string): string =>
  `max-${flag}`.replaceAll(
    /-(.)/g,
    (_, letter: string) => letter.toUpperCase(),
  );

/** Creates the options about limits and times (spec §10). */
export const limitOptions = (): Option[] => [
  ...names.map((name) => {
    const [flag, most, text] = LIMIT_FLAGS[name];
    const option = new Option(`--max-${flag} <number>`, text);
    if (!DERIVED.includes(name)) option.default(DEFAULT_LIMITS[name]);
    return option.env(`SMCP_MAX_${flag.replaceAll("-", "_").toUpperCase()}`)
      .argParser(integer(1, most));
  }),
  new Option(
    "--max-connect-bytes <number>",
    "largest packet that asks for a session, with its credentials",
  ).default(MAX_CONNECT_BYTES).env("SMCP_MAX_CONNECT_BYTES")
    .argParser(integer(1024, 2 ** 20)),
  new Option(
    "--trust-proxy [count]",
    "proxies of your own in front of the server, whose X-Forwarded-For is believed (1 without a count)",
  ).default(0).preset("1").env("SMCP_TRUST_PROXY").argParser(integer(0, 100)),
  seconds(
    "handshake-timeout",
    10,
    "seconds from a connection to its admission",
  ),
  new Option(
    "--min-upload-rate <number>",
    "bytes per second at which a message must arrive over a WebSocket",
  ).default(MIN_UPLOAD_RATE).env("SMCP_MIN_UPLOAD_RATE")
    .argParser(integer(1, 2 ** 30)),
  seconds(
    "connect-timeout",
    5,
    "seconds from a connection to the packet that asks for a session",
  ),
  seconds("header-timeout", 10, "seconds for the headers of a request"),
  seconds("ping-interval", 25, "seconds between two pings of a connection"),
  seconds("ping-timeout", 20, "seconds that a client has to answer a ping"),
];

const seconds = (flag: string, byDefault: number, text: string): Option =>
  new Option(`--${flag} <seconds>`, text)
    .default(byDefault)
    .env(`SMCP_${flag.replaceAll("-", "_").toUpperCase()}`)
    .argParser(integer(1, DAY_SECONDS));

/** Limits and times of the command line; every option has a default. */
export type LimitSettings = Required<
  Pick<
    SmcpServerOptions,
    | "limits"
    | "maxConnectBytes"
    | "trustedProxies"
    | "handshakeTimeoutMs"
    | "connectTimeoutMs"
    | "headerTimeoutMs"
    | "minUploadRate"
    | "heartbeat"
  >
>;

/**
 * Reads the values of {@linkcode limitOptions}.
 *
 * @param limited whether limits apply at all
 */
export function readLimits(
  read: Readonly<Record<string, unknown>>,
  limited: boolean,
): LimitSettings {
  const number = (key: string) => Number(read[key]);
  const milliseconds = (key: string) => number(key) * 1000; // flags count seconds
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of names) {
    const value = read[keyOf(LIMIT_FLAGS[name][0])];
    if (value !== undefined) limits[name] = Number(value);
  }
  return {
    limits: limited && limits,
    maxConnectBytes: number("maxConnectBytes"),
    trustedProxies: number("trustProxy"),
    handshakeTimeoutMs: milliseconds("handshakeTimeout"),
    connectTimeoutMs: milliseconds("connectTimeout"),
    headerTimeoutMs: milliseconds("headerTimeout"),
    minUploadRate: number("minUploadRate"),
    heartbeat: {
      intervalMs: milliseconds("pingInterval"),
      timeoutMs: milliseconds("pingTimeout"),
    },
  };
}
