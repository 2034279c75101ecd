import type { ConnectionOptions } from "./options.ts";
import { isTls } from "./tls/tls.ts";

const SECRET_HEADER = /^(x-api-key|authorization|cookie)$/i;
const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i;

/**
 * Says that credentials go to another machine unencrypted, where they do (spec §10).
 *
 * @returns a sentence that says what to do; undefined when all is well
 */
export function secretsInClear(
  { url, auth, headers = {} }: Pick<
    ConnectionOptions,
    "url" | "auth" | "headers"
  >,
): string | undefined {
  const { host, hostname } = new URL(url);
  if (isTls(url) || LOOPBACK.test(hostname)) return undefined;
  const inAuth = typeof auth === "function" ||
    Object.keys(auth ?? {}).length > 0;
  const inHeaders = Object.keys(headers).some((n) => SECRET_HEADER.test(n));
  if (!inAuth && !inHeaders) return undefined;
  return `The key or token goes to ${host} unencrypted, where everybody on the way can read it: use https:// there`;
}
