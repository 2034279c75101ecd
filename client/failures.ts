/**
 * Extracts the reason of a failed request from an error of Socket.IO, whose message ("xhr poll error")
 * does not tell it.
 *
 * @module
 */
import { ConnectionError, type ConnectionErrorCode } from "./errors.ts";
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
  const failed = (code: ConnectionErrorCode, target: string, why: string) =>
    new ConnectionError(code, `Cannot connect to ${target}: ${why}`, { cause });
  const below = systemError(cause);
  if (below instanceof ConnectionError) { // of the proxy
    return failed("proxy", url, below.message);
  }
  const target = route ? `${url} through the proxy ${route.url}` : url;
  const reason = await tlsReason(codeOf(cause), { url, tls }, route?.agent);
  if (reason !== undefined) return failed("tls", target, reason);
  const { text, from } = describeFailure(cause);
  const question = from ? "" : `; ${questionAbout(url)}`;
  return failed("unreachable", target, text + question);
}

/** Asks what an unknown failure leaves open: a page cannot read that a Server refuses its origin. */
function questionAbout(url: string): string {
  const running = "is an A2C-SMCP server running there";
  const origin = text(at(globalThis, "location", "origin"));
  return origin === undefined || URL.parse(url)?.origin === origin
    ? `${running}?`
    : `${running}, and does its option --origins (origins) allow pages of ${origin}?`;
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

/**
 * Describes why a request failed, in short.
 *
 * @returns `from` says who answered instead of an A2C-SMCP server, if anybody
 */
export function describeFailure(
  cause: unknown,
): { readonly text: string; readonly from?: "proxy" | "stranger" } {
  const status = Number(at(cause, "description"));
  if (status >= 502 && status <= 504) {
    const text = `HTTP ${status}, of a proxy that does not reach its Server`;
    return { text, from: "proxy" };
  }
  const message = text(at(cause, "message"));
  // Not of Engine.IO: its client has only these messages for that.
  const isUnreadable = /^(server|parse) error$/.test(message ?? "");
  if (status > 0 || isUnreadable || /^HPE_/.test(codeOf(cause) ?? "")) {
    const shown = status > 0 ? ` (HTTP ${status})` : "";
    const text = `what answers there is no A2C-SMCP server${shown}`;
    return { text, from: "stranger" };
  }
  const below = text(at(systemError(cause), "message"));
  return { text: below ?? message ?? String(cause) };
}

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
