/**
 * The service of a user: what manages it on this platform, and the file with its credentials.
 *
 * @module
 */
import process from "node:process";
import { isAbsolute, join } from "node:path";
import { launchd } from "./launchd.ts";
import type { ServiceManager, ServiceName } from "./manager.ts";
import { systemd } from "./systemd.ts";

/** A service of this user: what manages it, and the file with its credentials. */
export interface UserService extends ServiceManager {
  /** The file with its credentials. */
  readonly envFile: string;
}

/**
 * Finds out what manages the services of this user.
 *
 * @throws {Error} with the remedy, where nothing does
 */
export function userService(name: ServiceName): UserService {
  const { platform, env } = process;
  if (platform === "win32") {
    throw new Error(
      `Windows has no user services; let the Task Scheduler start the command at logon: schtasks /Create /SC ONLOGON /TN ${name} /TR "COMMAND", with credentials in a file that the variable SMCP_ENV_FILE names`,
    );
  }
  const home = env.HOME ?? "";
  if (!isAbsolute(home)) {
    throw new Error(
      "the environment variable HOME does not name your home directory; set it",
    );
  }
  const chosen = env.XDG_CONFIG_HOME ?? "";
  const config = isAbsolute(chosen) ? chosen : join(home, ".config");
  const manager = platform === "darwin"
    ? launchd(name, home)
    : systemd(name, config, env.USER || env.LOGNAME || undefined);
  return {
    ...manager,
    envFile: join(config, "a2c-smcp", `${name}.env`),
    async check() {
      if (process.getuid?.() === 0) {
        throw new Error(
          `${name} would run as root, at root's logins; run this as the user of the service, without sudo`,
        );
      }
      await manager.check();
    },
  };
}
