import { ProtocolVersionError } from "../protocol/connect_error.ts";
import { ErrorCode, ProtocolError } from "../protocol/errors/protocol_error.ts";
import { ConnectionError } from "./errors/errors.ts";
import type { UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./proxy.ts";
import {
  codeOf,
  describeFailure,
  systemError,
} from "./errors/request_failure.ts";
import { tlsReason } from "./node_way.ts";

/** Refusals that do not change with a retry with the same version and credentials. */
const FINAL_ERROR_CODES: readonly number[] = [
  ErrorCode.BAD_REQUEST,
  ErrorCode.UNAUTHORIZED,
  ErrorCode.FORBIDDEN,
];

/** Returns whether a refusal is final, so that a retry is pointless. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ProtocolVersionError ||
  error instanceof ProtocolError && FINAL_ERROR_CODES.includes(error.code);

/**
 * Creates the error for a first attempt that reached no Server, or failed at a proxy or at TLS.
 *
 * @param route the proxy on the way, if any
 */
export async function unreachable(
  { url, tls }: Pick<UrlOptions, "url" | "tls">,
  cause: unknown,
  route?: ProxyRoute,
): Promise<ConnectionError> {
  const below = systemError(cause);
  if (below instanceof ConnectionError) { // of the proxy
    const message = `Cannot connect to ${url}: ${below.message}`;
    return new ConnectionError("proxy", message, { cause });
  }
  const target = route ? `${url} through the proxy ${route.url}` : url;
  const reason = await tlsReason(codeOf(cause), { url, tls }, route?.agent);
  if (reason !== undefined) {
    const message = `Cannot connect to ${target}: ${reason}`;
    return new ConnectionError("tls", message, { cause });
  }
  const { text, from } = describeFailure(cause);
  return new ConnectionError(
    "unreachable",
    `Cannot connect to ${target}: ${text}${
      from ? "" : "; is an A2C-SMCP server running there?"
    }`,
    { cause },
  );
}
