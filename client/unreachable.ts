/**
 * The error of a first attempt that reached no Server, with its reason.
 *
 * @module
 */
import {
  codeOf,
  ConnectionError,
  type ConnectionErrorCode,
  describeFailure,
  systemError,
} from "./errors.ts";
import { tlsReason } from "./network/node_network.ts";
import type { UrlOptions } from "./options.ts";
import type { ProxyRoute } from "./network/proxy.ts";

/**
 * Creates the error for a first attempt that reached no Server, or failed at a proxy or at TLS.
 *
 * @param route through a proxy, if any
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
  const { origin }: { origin?: string } = Object(
    Reflect.get(globalThis, "location"),
  );
  return origin === undefined || URL.parse(url)?.origin === origin
    ? `${running}?`
    : `${running}, and does its option --origins (origins) allow pages of ${origin}?`;
}
