import { homedir } from "node:os";
import { join } from "node:path";

/** Returns the user's directory for state, by the XDG convention. */
export const defaultOAuthDirectory = (
  env: Readonly<Record<string, string | undefined>>,
): string =>
  join(
    env.XDG_STATE_HOME || join(homedir(), ".local", "state"),
    "a2c-smcp",
    "oauth",
  );
