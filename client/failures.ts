/**
 * Extracts the reason of a failed request from an error of Socket.IO, whose message ("xhr poll error")
 * does not tell it.
 *
 * @module
 */
import { ConnectionError } from "./errors.ts";
import { tlsReason } from "./node_way.ts";
import type { UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./proxy.ts";
import {
  ErrorCode,
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";

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

/** Why a request failed, in short; `from` says who answered instead of an A2C-SMCP server, if anybody. */
interface RequestFailure {
  readonly text: string;
  readonly from?: "proxy" | "stranger";
}

/** Returns the error of the system, of TLS or of the runtime below an error of either transport. */
const systemError = (cause: unknown): unknown =>
  at(cause, "context", "statusText") ??
    at(cause, "description", "error") ??
    at(cause, "description");

/** Returns the underlying error code of the system or TLS, over either transport. */
export const codeOf = (cause: unknown): string | undefined =>
  text(at(systemError(cause), "code"));

/** Returns whether Deno lacks the permission for a request. */
export function isDenied(cause: unknown): boolean {
  const below = systemError(cause);
  return below instanceof Error && below.name === "NotCapable";
}

/** Describes why a request failed. */
export function describeFailure(cause: unknown): RequestFailure {
  const status = Number(at(cause, "description"));
  if (status >= 502 && status <= 504) {
    return {
      from: "proxy",
      text: `HTTP ${status}, of a proxy that does not reach its Server`,
    };
  }
  if (
    status > 0 || isUnreadable(cause) || /^HPE_/.test(codeOf(cause) ?? "")
  ) {
    return {
      from: "stranger",
      text: `what answers there is no A2C-SMCP server${
        status > 0 ? ` (HTTP ${status})` : ""
      }`,
    };
  }
  return {
    text: text(at(systemError(cause), "message")) ??
      text(at(cause, "message")) ?? String(cause),
  };
}

/** Checks for an answer that is not of Engine.IO: its client has only these messages for that. */
const isUnreadable = (cause: unknown): boolean =>
  /^(server|parse) error$/.test(String(at(cause, "message")));

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const at = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );
