import { checkNumbers } from "../../shared/checks.ts";
import type { OfficeMcpOptions } from "../options.ts";

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
  /** Milliseconds without a request or an open stream after which the seat in an office is given up; default 60,000. */
  seatIdleMs?: number;
  /** The most offices that are served at once; default 100. */
  maxOffices?: number;
  /** The name of the Agent in each office; default `mcp`. */
  agentName?: string;
}

/** The options with their defaults. */
export interface ResolvedGatewayOptions {
  /** See {@linkcode McpGatewayOptions}. */
  readonly seatIdleMs: number;
  /** See {@linkcode McpGatewayOptions}. */
  readonly maxOffices: number;
  /** See {@linkcode McpGatewayOptions}. */
  readonly agentName: string;
  /** How each office is shown. */
  readonly office: OfficeMcpOptions;
}

/** The longest that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Fills in the defaults.
 *
 * @throws {RangeError} naming a number that is out of its range
 * @throws {TypeError} for an empty name
 */
export function resolveGatewayOptions(
  {
    seatIdleMs = 60_000,
    maxOffices = 100,
    agentName = "mcp",
    ...office
  }: McpGatewayOptions,
): ResolvedGatewayOptions {
  check("seatIdleMs", seatIdleMs, MAX_TIMER_MS);
  check("maxOffices", maxOffices, Number.MAX_SAFE_INTEGER);
  if (agentName === "") {
    throw new TypeError("Cannot use agentName: expected a name");
  }
  return { seatIdleMs, maxOffices, agentName, office };
}

function check(name: string, value: number, most: number): void {
  checkNumbers({ [name]: value });
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new RangeError(
    `Cannot use ${name} ${value}: expected a whole number from 1 to ${most}`,
  );
}
