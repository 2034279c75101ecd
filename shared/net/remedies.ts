/**
 * Why a Server was not reached, or refused, and what to do, in terms of the command line: for the commands
 * and for the pipe of MCP, which import nothing else in common.
 *
 * @module
 */

/** Remedies for refusals by credentials, by the code of the protocol, which is the status of HTTP. */
export const CREDENTIAL_REMEDIES: Readonly<Record<number, string>> = {
  401:
    "give a key of this Server with --api-key (SMCP_API_KEY), or a valid token with --token (SMCP_TOKEN)",
  403: "ask the Server's operator to allow it",
};

/** Causes and remedies of failed connections, by the code of the operating system or of TLS. */
export const NETWORK_REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    "connection refused; start a Server, or correct the address with --url",
  ENOTFOUND:
    "unknown host name; correct the address with --url, or name the proxy that leads there with --proxy",
  EAI_AGAIN:
    "the host name cannot be looked up; is this machine connected to a network?",
  ETIMEDOUT: "no answer; is a firewall in between?",
  EHOSTUNREACH: "host unreachable; is this machine on the right network?",
  ECONNRESET:
    "the connection ended before the answer; does it speak http, or https?",
};
