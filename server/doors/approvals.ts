/**
 * The contract between a Server and its approvals, which are loaded only where they are switched on.
 *
 * @module
 */
import type { Hono } from "hono";
import type { RequestParts } from "../http/gate.ts";
import type { SmcpEnv } from "../http/http_app.ts";
import type {
  OfficeParts,
  Offices,
  SeatDevices,
  Seated,
} from "../office/peer.ts";

/** What `approvals()` of `@a2c-smcp/sdk/server/approvals` returns, for the option `approvals`. */
export interface ApprovalsOption {
  /** Names it. */
  readonly kind: "approvals";
}

/** What the devices of Computers are kept with. */
export type DeviceParts = Pick<OfficeParts, "audit" | "clock" | "deadlines">;

/** The parts of a server that the requests of devices need. */
export interface DeviceRouteParts extends RequestParts {
  readonly offices: Offices;
}

/** The requests of devices. */
export interface DeviceRoutes {
  /** Adds `/approve`, and what is below it. */
  mount(app: Hono<SmcpEnv>): void;
  /** Ends all requests. */
  close(): void;
}

/** How a Server makes its approvals. */
export interface ApprovalsSetup {
  /** The host name under which alone devices reach the Server. */
  readonly host: string | undefined;
  /** Makes what keeps the devices of Computers of which the office is here. */
  devicesOf(parts: DeviceParts): (computer: Seated) => SeatDevices;
  /** Makes the requests of devices. */
  routes(parts: DeviceRouteParts): DeviceRoutes;
}

const setups = new WeakMap<ApprovalsOption, ApprovalsSetup>();

/** Makes an option of a setup, which users do not see. */
export function approvalsOption(setup: ApprovalsSetup): ApprovalsOption {
  const option: ApprovalsOption = { kind: "approvals" };
  setups.set(option, setup);
  return option;
}

/**
 * Returns the setup of an option.
 *
 * @throws {TypeError} when it is none
 */
export function setupOf(option: ApprovalsOption): ApprovalsSetup {
  const setup = setups.get(option);
  if (setup !== undefined) return setup;
  throw new TypeError(
    "Cannot use the option approvals: expected what approvals() of @a2c-smcp/sdk/server/approvals returns",
  );
}

/**
 * Returns the host name of approvals.
 *
 * @throws {TypeError} when clients reach the server by it: nothing else would be served there
 */
export function ownHost(
  { host }: ApprovalsSetup,
  publicUrl: string | undefined,
): string | undefined {
  if (host === undefined || URL.parse(publicUrl ?? "")?.hostname !== host) {
    return host;
  }
  throw new TypeError(
    `Cannot use the host ${host} for approvals: it is that of publicUrl (--public-url), and nothing else would be served there; give approvals a name of their own`,
  );
}
