/** Where the runtimes and tools that MCP servers use look for CA certificates. */
const CA_VARIABLES = [
  "NODE_EXTRA_CA_CERTS",
  "NODE_USE_SYSTEM_CA",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "PIP_CERT",
  "UV_NATIVE_TLS",
  "UV_SYSTEM_CERTS",
  "GIT_SSL_CAINFO",
  "GIT_SSL_CAPATH",
  "AWS_CA_BUNDLE",
  "NPM_CONFIG_CAFILE",
  "npm_config_cafile",
] as const;

const PROXY_VARIABLES = [
  "HTTP_PROXY",
  "http_proxy",
  "HTTPS_PROXY",
  "https_proxy",
  "ALL_PROXY",
  "all_proxy",
  "NO_PROXY",
  "no_proxy",
  "NODE_USE_ENV_PROXY",
  "NPM_CONFIG_PROXY",
  "npm_config_proxy",
  "NPM_CONFIG_HTTPS_PROXY",
  "npm_config_https_proxy",
  "NPM_CONFIG_NOPROXY",
  "npm_config_noproxy",
  "PIP_PROXY",
] as const;

/** The variables that an MCP server inherits unless its configuration has `inherit_env: false`. */
export const INHERITED_VARIABLES: readonly string[] = [
  ...CA_VARIABLES,
  ...PROXY_VARIABLES,
];

/** An environment such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Picks the variables that an MCP server needs to reach the network: CA certificates and proxies. */
export function inheritedVariables(
  environment: Environment,
): Record<string, string> {
  return Object.fromEntries(
    INHERITED_VARIABLES.flatMap((name) => {
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
