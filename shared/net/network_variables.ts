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
];

const PROXY_VARIABLES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "NODE_USE_ENV_PROXY",
  "NPM_CONFIG_PROXY",
  "NPM_CONFIG_HTTPS_PROXY",
  "NPM_CONFIG_NOPROXY",
  "PIP_PROXY",
];

/** Those that are read in lower case as well. */
const EITHER_CASE = /^((HTTPS?|ALL|NO)_PROXY|NPM_CONFIG_.*)$/;

/** The variables that programs need to reach the network: CA certificates and proxies. */
export const NETWORK_VARIABLES: readonly string[] = [
  ...CA_VARIABLES,
  ...PROXY_VARIABLES,
].flatMap((name) => EITHER_CASE.test(name) ? [name, name.toLowerCase()] : name);
