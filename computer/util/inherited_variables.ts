import { NETWORK_VARIABLES } from "../../shared/network_variables.ts";

/** An environment such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Picks the variables that an MCP server needs to reach the network: CA certificates and proxies. */
export function inheritedVariables(
  environment: Environment,
): Record<string, string> {
  return Object.fromEntries(
    NETWORK_VARIABLES.flatMap((name) => {
      const value = environment[name];
      // Bash exports shell functions in this form; they are code.
      return value === undefined || value.startsWith("()")
        ? []
        : [[name, value]];
    }),
  );
}

/** Hiding a shorter password would blot out ordinary words that contain it. */
const MIN_HIDDEN_CHARACTERS = 4;

/**
 * Extracts the credentials from variables that are URLs, such as a proxy's.
 *
 * Returns them both as written and percent-decoded: a program may report either.
 */
export const urlCredentials = (
  variables: Readonly<Record<string, string>>,
): string[] =>
  Object.values(variables).flatMap((value) => {
    const [, scheme, userinfo] =
      /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)@/i.exec(value) ?? [];
    if (userinfo === undefined) return [];
    const sign = userinfo.indexOf(":");
    // `user:password@host` is a proxy; `me@host` is an address.
    if (scheme === undefined && sign === -1) return [];
    const password = userinfo.slice(sign + 1);
    return [userinfo, password, decoded(password)]
      .filter((text) =>
        text === userinfo || text.length >= MIN_HIDDEN_CHARACTERS
      );
  });

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
