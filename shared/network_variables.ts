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

/** The variables that programs need to reach the network: CA certificates and proxies. */
export const NETWORK_VARIABLES: readonly string[] = [
  ...CA_VARIABLES,
  ...PROXY_VARIABLES,
];
