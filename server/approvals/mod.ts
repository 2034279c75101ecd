/**
 * Approvals by a person's device: the Server passes on what a device and its Computer send each other, and
 * can neither read nor change it; it serves the page for a device, too.
 *
 * ```ts
 * import { apiKeys, createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { approvals } from "@a2c-smcp/sdk/server/approvals";
 *
 * await using smcp = createSmcpServer({
 *   authenticator: apiKeys([{ id: "ann", key: crypto.randomUUID() }]),
 *   approvals: approvals({ host: "approve.example.com" }),
 * });
 * ```
 *
 * It has no timers and no files, and runs wherever a Server does.
 *
 * @module
 */
import "../../shared/check_runtime.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { type ApprovalsOption, approvalsOption } from "../doors/approvals.ts";
import { readApprovalsHost } from "../http/host_rule.ts";
import { ComputerDevices } from "./computer_devices.ts";
import { PersonDeviceRoutes } from "./device_routes.ts";
import { KnownTokens } from "./known_tokens.ts";

export type { ApprovalsOption } from "../doors/approvals.ts";

/** Options of {@linkcode approvals}. */
export interface ApprovalsOptions {
  /**
   * A host name under which the page `/approve` and the requests of devices are served, and nothing else,
   * such as `approve.example.com`: no other page of the Server then has the origin of the keys. Default
   * none: they are served under all names of the Server.
   */
  host?: string;
}

const OPTION_NAMES = { host: true } satisfies NamesOf<ApprovalsOptions>;

/**
 * Makes the option `approvals` of `createSmcpServer()` and `smcpWorker()`.
 *
 * @throws {TypeError} for a misspelled option, and a host that is no name of its own
 */
export function approvals(options: ApprovalsOptions = {}): ApprovalsOption {
  checkNames(options, OPTION_NAMES, "approvals()");
  const host = options.host === undefined
    ? undefined
    : readApprovalsHost(options.host, "the host");
  const known = new KnownTokens();
  return approvalsOption({
    host,
    devicesOf: (parts) => (computer) =>
      new ComputerDevices(computer, parts, { host, known }),
    routes: (parts) => new PersonDeviceRoutes(parts, known),
  });
}
