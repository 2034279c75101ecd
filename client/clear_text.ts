import type { ConnectionOptions } from "./options.ts";
import { isTls } from "./tls/tls.ts";

const SECRET_HEADER = /^(x-api-key|authorization|cookie)$/i;

/** Returns whether the host of a URL is this machine, by its name. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);

/**
 * Detects credentials that would be sent to another machine unencrypted (spec §10).
 *
 * @returns a warning that says what to do, or `undefined`
 */
export function secretsInClear(
  { url, auth, headers = {} }: Pick<
    ConnectionOptions,
    "url" | "auth" | "headers"
  >,
): string | undefined {
  const { host, hostname } = new URL(url);
  if (isTls(url) || isLoopback(hostname)) return undefined;
  const inAuth = typeof auth === "function" ||
    Object.keys(auth ?? {}).length > 0;
  const inHeaders = Object.keys(headers).some((n) => SECRET_HEADER.test(n));
  if (!inAuth && !inHeaders) return undefined;
  return `The key or token goes to ${host} unencrypted, where anyone on the way can read it: use https:// there`;
}
