/**
 * The flags of sign-in: their options, what they need beside them, and the sign-in that they make.
 *
 * @module
 */
import type { Option } from "commander";
import { unwritable } from "../../cli/explain_failure.ts";
import { option as flag } from "../../cli/flags.ts";
import { orUsageError, UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import { isLoopback } from "../../shared/loopback.ts";
import { isSafeIssuer } from "../doors/issuer.ts";
import type { SmcpServerOptions } from "../options.ts";

/** The values of the options. */
export interface SignInFlags {
  readonly signIn?: boolean;
  readonly signInFile?: string;
  readonly signInRedirect?: readonly string[];
  readonly signInWith?: string;
  readonly signInClientId?: string;
}

/** What of the sign-in only the environment has: all users of the machine see command lines. */
export interface SignInSecrets {
  readonly signInSecret?: string;
  readonly signInClientSecret?: string;
}

/** Environment only: all users of a machine can list its command lines. */
export const SIGN_IN_SECRET = "SMCP_SIGN_IN_SECRET";

/** The variable with the secret of the client at the provider. */
export const CLIENT_SECRET = "SMCP_SIGN_IN_CLIENT_SECRET";

/** Creates the options. */
export const signInOptions = (): Option[] => [
  flag(
    "--sign-in",
    "let people sign in to MCP in a browser with a key of theirs, for programs that take a URL and no key; implies --mcp, and needs --public-url unless it is for this machine alone",
  ),
  flag(
    "--sign-in-file <file>",
    "keep sign-ins in this file, of SQLite (default: in memory, so that a restart ends them; with --cluster, in Redis)",
  ),
  flag(
    "--sign-in-redirect <list>",
    "further redirect URIs of programs, such as myapp://callback",
  ).argParser((text) => text.split(",").map((part) => part.trim())),
  flag(
    "--sign-in-with <issuer>",
    `let persons of this OpenID provider sign in, in place of keys, at the offices in their claim office_id; needs --sign-in-client-id, and the secret in ${CLIENT_SECRET} unless the client is public`,
  ),
  flag(
    "--sign-in-client-id <id>",
    "the client at the provider, with the redirect URI PUBLIC_URL/authorize/callback",
  ),
];

/** What the flags of sign-in depend on. */
interface Surroundings extends SignInFlags {
  readonly host: string;
  readonly publicUrl?: string;
  readonly apiKeys?: string;
  readonly jwtIssuer?: string;
  /** Whether there is another server with the same offices. */
  readonly isClustered: boolean;
  /** Whether clients are authenticated by JWT. */
  readonly hasJwt: boolean;
}

/** @throws {UsageError} for flags that contradict each other, or do nothing */
export function checkSignIn(flags: Surroundings): void {
  const problem = flags.signIn ? problemOf(flags) : idleOf(flags);
  if (problem !== undefined) throw new UsageError(problem);
}

function idleOf(flags: SignInFlags): string | undefined {
  const values = {
    "--sign-in-file": flags.signInFile,
    "--sign-in-redirect": flags.signInRedirect,
    "--sign-in-with": flags.signInWith,
    "--sign-in-client-id": flags.signInClientId,
  };
  const [idle] =
    Object.entries(values).find(([, value]) => value !== undefined) ?? [];
  return idle && `${idle} does nothing without --sign-in`;
}

/** Returns what is wrong with the flags of a provider. */
function providerProblemOf(
  { signInWith, signInClientId, publicUrl, apiKeys, hasJwt }: Surroundings,
): string | undefined {
  if (signInWith === undefined) {
    return signInClientId &&
      "--sign-in-client-id does nothing without --sign-in-with";
  }
  if (signInClientId === undefined) {
    return "--sign-in-with needs --sign-in-client-id, the client that this Server is at the provider";
  }
  const isOpen = !apiKeys && !hasJwt;
  return isOpen && publicUrl !== undefined && !isLocal(publicUrl)
    ? "--sign-in-with needs --api-keys, or a key of JWTs, with --public-url: without them, anyone who reaches the Server could join its offices past the sign-in"
    : undefined;
}

function problemOf(flags: Surroundings): string | undefined {
  const { host, publicUrl, apiKeys, signInFile, isClustered } = flags;
  if (flags.jwtIssuer) {
    return "only one of --sign-in and --jwt-issuer can be given: a program asks one issuer";
  }
  if (signInFile === "") {
    return "--sign-in-file is empty: name a file, or leave it out to keep sign-ins in memory";
  }
  if (signInFile !== undefined && isClustered) {
    return "--sign-in-file cannot be given with --cluster, where sign-ins are in Redis";
  }
  if (publicUrl !== undefined && !isSafeIssuer(publicUrl)) {
    return `--sign-in needs https, since tokens could be read in transit: give --public-url an https:// URL, or leave it out on this machine`;
  }
  if (publicUrl === undefined && !isLoopback(host)) {
    return `--sign-in needs to know its URL on ${host}: give --public-url https://…, or leave out --host`;
  }
  const problem = providerProblemOf(flags);
  if (problem !== undefined || apiKeys || flags.signInWith !== undefined) {
    return problem;
  }
  if (flags.hasJwt) {
    return "--sign-in needs --api-keys or --sign-in-with: a person cannot sign in with a JWT";
  }
  return publicUrl === undefined || isLocal(publicUrl)
    ? undefined
    : "--sign-in needs --api-keys with --public-url: without keys, anyone who reaches the page could let programs in";
}

const isLocal = (url: string): boolean => isLoopback(new URL(url).hostname);

/** What {@linkcode warningOf} depends on. */
interface Exposure
  extends Pick<Surroundings, "signIn" | "signInWith" | "publicUrl"> {
  readonly trustProxy: number;
  readonly tlsCert?: string;
}

/**
 * Returns what the log warns of.
 *
 * @param isOpen whether clients need no credentials
 */
export function warningOf(
  { signIn, signInWith, publicUrl, trustProxy, tlsCert }: Exposure,
  isOpen: boolean,
): string | undefined {
  if (!signIn) return undefined;
  if (isOpen && signInWith === undefined) {
    return "--sign-in without --api-keys: whoever uses this machine can let programs in, with one button";
  }
  const isBehindProxy = publicUrl?.startsWith("https:") &&
    tlsCert === undefined;
  return isBehindProxy && trustProxy === 0
    ? "--sign-in behind a proxy without --trust-proxy: all people have the proxy's address, so that ten wrong keys of a stranger close the page to all for a minute; give --trust-proxy 1 where the proxy sets X-Forwarded-For"
    : undefined;
}

/**
 * Makes the sign-in, if the flags ask for it; only then loads its code.
 *
 * @param setting by which a person chooses the file
 * @throws {UsageError} for a redirect URI or an issuer that cannot be one, or a secret that could be guessed
 * @throws {Error} for a file that cannot keep sign-ins
 */
export async function loadSignIn(
  { signIn: isOn, signInFile, signInRedirect, ...flags }:
    & SignInFlags
    & SignInSecrets,
  setting = "--sign-in-file",
): Promise<Pick<SmcpServerOptions, "signIn">> {
  if (!isOn) return {};
  const { signInSecret, signInWith: issuer, signInClientId: clientId = "" } =
    flags;
  const { signInClientSecret: clientSecret } = flags;
  const { signIn } = await import("../sign_in/mod.ts");
  const store = signInFile === undefined
    ? undefined
    : await openFile(signInFile, setting);
  return {
    signIn: orUsageError(() =>
      signIn({
        ...(store && { store }),
        ...(signInSecret && { secret: signInSecret }),
        ...(signInRedirect && { redirects: signInRedirect }),
        ...(issuer !== undefined && {
          provider: { issuer, clientId, ...(clientSecret && { clientSecret }) },
        }),
      })
    ),
  };
}

async function openFile(file: string, setting: string) {
  const { sqliteStore } = await import("../sign_in/sqlite_store.ts");
  try {
    return await sqliteStore(file);
  } catch (error) {
    const { cause }: { cause?: unknown } = Object(error);
    const explained = unwritable(cause, plain(file), setting);
    throw explained === cause ? error : explained;
  }
}
