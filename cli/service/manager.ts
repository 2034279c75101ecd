import { isAbsolute, join } from "node:path";
import type { RunProgram } from "./host.ts";
import { launchd } from "./launchd/launchd.ts";
import type { ServiceManager, ServiceName } from "./service.ts";
import { systemd } from "./systemd/systemd.ts";

/** A user of a machine. */
export interface Place {
  /** The value of `process.platform`. */
  readonly platform: string;
  /** The environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the user's number. */
  uid(): number;
}

/** Where a service of a user is kept, and by what. */
export interface Keeping {
  /** What manages it. */
  readonly manager: ServiceManager;
  /** The file with its credentials. */
  readonly envFile: string;
}

/**
 * Finds out what manages the services of a user.
 *
 * @throws {Error} that says what to do instead, where nothing does
 */
export function keepingOf(
  name: ServiceName,
  { platform, env, uid }: Place,
  run: RunProgram,
): Keeping {
  if (platform === "win32") {
    throw new Error(
      `Windows has no services of a user; let the Task Scheduler start the command at log on: schtasks /Create /SC ONLOGON /TN ${name} /TR "COMMAND", with credentials in a file that the variable SMCP_ENV_FILE names`,
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
  const envFile = join(config, "a2c-smcp", `${name}.env`);
  if (platform === "darwin") {
    return { manager: launchd(name, { home, uid }, run), envFile };
  }
  const user = env.USER || env.LOGNAME;
  const owner = { config, ...(user && { user }) };
  return { manager: systemd(name, owner, run), envFile };
}

/**
 * Checks that a service can be managed for this user, now.
 *
 * @throws {Error} that says what to do
 */
export async function checkPlace(
  name: ServiceName,
  { uid }: Place,
  { manager }: Keeping,
): Promise<void> {
  if (uid() === 0) {
    throw new Error(
      `this is root, and ${name} would run as root at root's logins; run this as the user that the service is for, without sudo`,
    );
  }
  await manager.check();
}
