/**
 * The options of `officeMcp()` and `mcpGateway()`.
 *
 * Defaults and ranges are tables; a number out of its range is refused at the start. A client's own
 * view, by the query of its URL, can only narrow what is served.
 *
 * @module
 */
import { MAX_TIMER_MS } from "../shared/async.ts";
import { checkNames, checkNumbers, type NamesOf } from "../shared/checks.ts";
import type { ComputerChoice } from "../shared/computer_choice.ts";
import {
  isMemberName,
  isOfficeName,
  OFFICE_NAME_RULE,
} from "../protocol/names.ts";

/** A call of a tool, a read of a resource or a prompt that an MCP client asks a Computer for. */
export interface McpCall {
  /** The `req_id` under which it goes to the Computer. */
  readonly reqId: string;
  /** The Computer. */
  readonly computer: string;
  /** The tool's name there; absent unless one is called. */
  readonly tool?: string;
  /** The URI of the resource, as the client wrote it; absent unless one is read. */
  readonly uri?: string;
  /** The prompt's name there; absent unless one is got. */
  readonly prompt?: string;
  /** Who calls, as it was given to `OfficeMcp.handle`. */
  readonly principal?: string;
  /** The id of the sign-in by which it calls, if it does by one. */
  readonly grant?: string;
  /** The program that calls, as it names itself. */
  readonly client?: { readonly name: string; readonly version: string };
}

/** What is called when a call has ended, if anything. */
export type Admitted = (() => void) | void;

/** Options of {@linkcode officeMcp}. */
export interface OfficeMcpOptions {
  /** Only the tools of this Computer, under their own names, without a prefix. */
  computer?: string;
  /**
   * Only tools that match one of these: a name with `*` for any characters, such as `laptop__*`, or
   * `tag:WORD` for those that their Computer tagged so; default all.
   */
  include?: readonly string[];
  /** No tools that match one of these, even if they are included; default none. */
  exclude?: readonly string[];
  /**
   * What clients see: `"all"` tools (default), or with `"search"` two of ours, `search_tools` and
   * `call_tool`, for clients that cannot hold many.
   */
  tools?: "all" | "search";
  /** The most characters of a tool's name, 24 to 128; default 48. */
  nameLimit?: number;
  /** Leaves out output schemas, which strict clients hold results to and throw away what does not fit; default false. */
  lenient?: boolean;
  /** Adds the tools `desktop`, `find_documents` and `read_document`, for clients that show models no resources; default false. */
  desktopTools?: boolean;
  /** Milliseconds after which a call is cancelled, 1000 to 3,600,000; default 3,600,000: the client decides. */
  callTimeoutMs?: number;
  /**
   * Called before each call of a tool, each read and each prompt, to count and to log it; what it throws
   * is its failure. A function that it returns is called when it has ended.
   */
  admit?: (call: McpCall) => Admitted | Promise<Admitted>;
  /** Milliseconds between the signs of life of a running call, for clients that ask for progress; default 10,000. */
  heartbeatMs?: number;
  /** The most calls, reads and prompts per second, so that the Agent stays below the Server's limit; default 900. Others wait. */
  callsPerSecond?: number;
  /** The most of them that run at once; default 900. Others wait. */
  maxCalls?: number;
  /**
   * Names that HTTP requests may be for, beside `localhost` and loopback addresses; `"*"` for any.
   * Requests without a `Host` header, such as those made in process, pass.
   */
  hosts?: "*" | readonly string[];
  /** Web origins whose pages may call, such as `https://app.example`, or `"*"`; default none. */
  origins?: "*" | readonly string[];
  /** The largest body of an HTTP request, in bytes; default 8 MiB. */
  maxBodyBytes?: number;
  /** The most sessions of clients of MCP 2025-11-25 and before; default 1000. */
  maxSessions?: number;
  /** Milliseconds after which an unused session ends; default 1,800,000. */
  sessionIdleMs?: number;
  /** Milliseconds after which the calls of a session are cancelled when its client has no open stream any more; default 60,000. */
  abandonedMs?: number;
}

/** How one client sees an office, by the query of its URL: `/mcp/OFFICE?tools=search`. */
export type ViewOptions = Pick<
  OfficeMcpOptions,
  | "computer"
  | "include"
  | "exclude"
  | "tools"
  | "nameLimit"
  | "callTimeoutMs"
  | "lenient"
  | "desktopTools"
>;

/** The names of {@linkcode ViewOptions}. */
export const VIEW_NAMES = {
  computer: true,
  include: true,
  exclude: true,
  tools: true,
  nameLimit: true,
  callTimeoutMs: true,
  lenient: true,
  desktopTools: true,
} as const satisfies NamesOf<ViewOptions>;

/** The names of the options that an office and a gateway have. */
const SHARED_NAMES = {
  ...VIEW_NAMES,
  heartbeatMs: true,
  maxSessions: true,
  sessionIdleMs: true,
  abandonedMs: true,
} as const;

/** The names of {@linkcode OfficeMcpOptions}. */
export const OFFICE_MCP_NAMES = {
  ...SHARED_NAMES,
  admit: true,
  callsPerSecond: true,
  maxCalls: true,
  hosts: true,
  origins: true,
  maxBodyBytes: true,
} satisfies NamesOf<OfficeMcpOptions>;

/** The options with their defaults. */
export type ResolvedOptions =
  & Required<Omit<OfficeMcpOptions, "computer" | "admit">>
  & Pick<OfficeMcpOptions, "computer" | "admit">
  & {
    /** What the office is shown by at most: no name of a client's choice gets around its patterns. */
    readonly within?: ResolvedOptions;
    /** The Computers that a person has chosen, by a sign-in; absent for all of them. */
    readonly computers?: ComputerChoice;
  };

/** Nine tenths of what a Server allows an Agent by default, for calls; the rest is for all else. */
const SERVER_SHARE = 900;

const DEFAULTS: ResolvedOptions = {
  include: [],
  exclude: [],
  tools: "all",
  // 64, which models allow, less a client's prefix such as `mcp__office__`.
  nameLimit: 48,
  lenient: false,
  desktopTools: false,
  callTimeoutMs: 3_600_000,
  heartbeatMs: 10_000,
  callsPerSecond: SERVER_SHARE,
  maxCalls: SERVER_SHARE,
  hosts: [],
  origins: [],
  maxBodyBytes: 8 * 2 ** 20,
  maxSessions: 1000,
  sessionIdleMs: 30 * 60_000,
  abandonedMs: 60_000,
};

/** Least and most of each option that is a number. */
const RANGES = {
  // Below it nothing readable is left of a name beside its hash; above, MCP allows none.
  nameLimit: [24, 128],
  callTimeoutMs: [1000, 3_600_000],
  heartbeatMs: [1, MAX_TIMER_MS],
  callsPerSecond: [1, Infinity],
  maxCalls: [1, Infinity],
  maxBodyBytes: [1, Infinity],
  maxSessions: [1, Infinity],
  sessionIdleMs: [1, MAX_TIMER_MS],
  abandonedMs: [1, MAX_TIMER_MS],
} as const satisfies Partial<
  Record<keyof OfficeMcpOptions, readonly [number, number]>
>;

/**
 * Fills in the defaults.
 *
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function resolveOptions(options: OfficeMcpOptions): ResolvedOptions {
  const resolved = { ...DEFAULTS, ...options };
  for (const [name, range] of Object.entries(RANGES)) {
    check(name, Reflect.get(resolved, name), range);
  }
  if (resolved.computer !== undefined && !isMemberName(resolved.computer)) {
    throw new TypeError(
      "Cannot use computer: expected the name of a Computer, 1 to 256 characters without lone surrogates",
    );
  }
  if (["all", "search"].includes(resolved.tools)) return resolved;
  const given = JSON.stringify(resolved.tools);
  throw new TypeError(`Cannot use tools ${given}: expected "all" or "search"`);
}

function check(
  name: string,
  value: unknown,
  [least, most]: readonly [number, number],
): void {
  checkNumbers({ [name]: value });
  const isWhole = Number.isInteger(value) || value === Infinity;
  if (isWhole && Number(value) >= least && Number(value) <= most) return;
  const range = most === Infinity ? `${least}` : `${least} to ${most}`;
  throw new RangeError(
    `Cannot use ${name} ${value}: expected a whole number from ${range}`,
  );
}

/**
 * Fills in how a client asks to see an office, within what it is allowed to.
 *
 * @param computers those that a person has chosen, if one has
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function narrowOptions(
  within: ResolvedOptions,
  asked: OfficeMcpOptions,
  computers?: ComputerChoice,
): ResolvedOptions {
  const { within: _, ...given } = within;
  const { computer, callTimeoutMs } = given;
  if (computer !== undefined && (asked.computer ?? computer) !== computer) {
    const given = JSON.stringify(asked.computer);
    throw new TypeError(
      `Cannot use computer ${given}: only ${
        JSON.stringify(computer)
      } is served here`,
    );
  }
  const all = { include: [], exclude: [] };
  const resolved = resolveOptions({ ...given, ...all, ...asked });
  return {
    ...resolved,
    callTimeoutMs: Math.min(resolved.callTimeoutMs, callTimeoutMs),
    within,
    ...(computers && { computers }),
  };
}

/** Options of {@linkcode mcpGateway}; those of `officeMcp` are for every office. */
export interface McpGatewayOptions extends
  Omit<
    OfficeMcpOptions,
    // The Server decides these.
    | "admit"
    | "callsPerSecond"
    | "hosts"
    | "maxBodyBytes"
    | "maxCalls"
    | "origins"
  > {
  /** Milliseconds without a request or an open stream after which the seat in an office is left; default 60,000. */
  seatIdleMs?: number;
  /** The most offices that are served at once; default 100. */
  maxOffices?: number;
  /** The name of the Agent in each office; default `mcp`. */
  agentName?: string;
}

const GATEWAY_NAMES = {
  ...SHARED_NAMES,
  seatIdleMs: true,
  maxOffices: true,
  agentName: true,
} satisfies NamesOf<McpGatewayOptions>;

/** The options of a gateway with their defaults. */
export interface ResolvedGatewayOptions {
  readonly seatIdleMs: number;
  readonly maxOffices: number;
  readonly agentName: string;
  /** How each office is shown. */
  readonly office: OfficeMcpOptions;
}

/**
 * Fills in the defaults.
 *
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} naming what cannot be used
 */
export function resolveGatewayOptions(
  options: McpGatewayOptions,
): ResolvedGatewayOptions {
  checkNames(options, GATEWAY_NAMES, "mcpGateway()");
  const {
    seatIdleMs = 60_000,
    maxOffices = 100,
    agentName = "mcp",
    ...office
  } = options;
  check("seatIdleMs", seatIdleMs, [1, MAX_TIMER_MS]);
  check("maxOffices", maxOffices, [1, Number.MAX_SAFE_INTEGER]);
  if (!isOfficeName(agentName)) {
    throw new TypeError(
      `Cannot use agentName: expected a name of ${OFFICE_NAME_RULE}`,
    );
  }
  resolveOptions(office);
  return { seatIdleMs, maxOffices, agentName, office };
}
