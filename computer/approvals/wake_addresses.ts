/**
 * The addresses that a Computer may post to when it wakes a person: those of the owner, and those of push
 * services, which devices name. Flags are checked by it at each start, so that it imports little.
 *
 * @module
 */
import { isLoopbackName } from "../../shared/loopback.ts";

/** The push services of browsers; a star stands for any subdomain. */
const PUSH_HOSTS: readonly string[] = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "web.push.apple.com",
  "*.notify.windows.com",
];

/** The longest address of a subscription. */
const MAX_ENDPOINT = 2_048;

/** Returns whether the Computer may post to an address that a device gave. */
export function isPushAddress(
  endpoint: string,
  hosts: readonly string[] = [],
): boolean {
  if (endpoint.length > MAX_ENDPOINT || !URL.canParse(endpoint)) return false;
  const url = new URL(endpoint);
  const { protocol, username, password, host } = url;
  return protocol === "https:" && username === "" && password === "" &&
    [...PUSH_HOSTS, ...hosts].some((pattern) =>
      pattern.startsWith("*.")
        ? host.endsWith(pattern.slice(1))
        : host === pattern.toLowerCase()
    );
}

/**
 * Reads a host of `--push-host`.
 *
 * @throws {TypeError} when it is none of an https address
 */
export function readPushHost(text: string): string {
  const host = text.toLowerCase();
  const address = `https://${host}`;
  if (URL.canParse(address) && new URL(address).host === host) return host;
  throw new TypeError(
    "Expected a host, and its port if that is not 443, such as push.example.com or push.example.com:8443.",
  );
}

/**
 * Reads an address of `--notify-url`.
 *
 * @throws {TypeError} when the sentence cannot be sent there, or would be read on the way
 */
export function readNotifyUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === "https:" ||
    url?.protocol === "http:" && isLoopbackName(url.hostname);
  if (url && isSafe && isDecodable(url.username + url.password)) return url;
  throw new TypeError(
    "Expected an https address, or an http one on this machine, such as https://ntfy.sh/TOPIC.",
  );
}

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
};
