import { isIP } from "node:net";
import type { ResolvedOptions } from "../options.ts";

/** Why a request is refused before anybody reads it. */
export interface Refused {
  /** Of the HTTP response. */
  readonly status: number;
  /** For the person who runs the client. */
  readonly message: string;
}

/**
 * Refuses what a page of the web could make a browser send: requests of a foreign origin, and those
 * for a foreign name that its owner points to this machine (DNS rebinding).
 */
export function checkHeaders(
  headers: Headers,
  { hosts, origins }: Pick<ResolvedOptions, "hosts" | "origins">,
): Refused | undefined {
  const host = headers.get("host");
  if (host !== null && hosts !== "*" && !isOurs(host, hosts)) {
    return { status: 403, message: "Host not allowed" };
  }
  const origin = headers.get("origin");
  if (origin === null || origins === "*" || origins.includes(origin)) {
    return undefined;
  }
  // Where any host passes, a page of the same name may be anybody's.
  const isOwn = hosts !== "*" && isOwnOrigin(origin, host);
  return isOwn ? undefined : { status: 403, message: "Origin not allowed" };
}

/** Whether a page is of the name that its request is for. */
export const isOwnOrigin = (origin: string, host: string | null): boolean =>
  host !== null && [`http://${host}`, `https://${host}`].includes(origin);

function isOurs(host: string, hosts: readonly string[]): boolean {
  const url = `http://${host}`;
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/\.$/, "")
    .replace(/^\[(.*)\]$/, "$1");
  return hosts.includes(name) || isThisMachine(name);
}

const isThisMachine = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || name === "::1" ||
  isIP(name) === 4 && name.startsWith("127.");
