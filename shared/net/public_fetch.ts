/**
 * Fetches documents of strangers, who choose the address: it must be a public one, so that no client reads
 * what only this machine reaches.
 *
 * A name is looked up once, its addresses are judged, and the connection goes to one of them: a later
 * answer of DNS changes nothing. Cloudflare resolves names itself, and has no private addresses.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { LookupAddress } from "node:dns";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

/** How much a document may take. */
export interface DocumentBounds {
  /** The largest body. */
  readonly maxBytes: number;
  /** Milliseconds for all of it. */
  readonly timeoutMs: number;
}

/** What of the network can be another's, for tests. */
export interface PublicNetwork {
  /** Looks a name up. */
  readonly lookup: (name: string) => Promise<readonly LookupAddress[]>;
  /** Judges an address. */
  readonly allows: (address: string) => boolean;
  /** Certificates of authorities, as PEM; absent for those of the system. */
  readonly ca?: string;
}

/** Blocks of IPv4 that are private, local or for special use (IANA's registry). */
const SPECIAL_4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3";
/** Those of IPv6 in the one block that is public, `2000::/3`: some lead to IPv4 addresses. */
const SPECIAL_6 = "2001::/23 2001:db8::/32 2002::/16 3fff::/20";
const PUBLIC_6 = "2000::/3";

const blocks = (text: string, family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList();
  for (const block of text.split(" ")) {
    const [net = "", bits] = block.split("/");
    list.addSubnet(net, Number(bits), family);
  }
  return list;
};

/** Judges addresses as lookups return them. */
class AddressRule {
  readonly #special4 = blocks(SPECIAL_4, "ipv4");
  readonly #special6 = blocks(SPECIAL_6, "ipv6");
  readonly #public6 = blocks(PUBLIC_6, "ipv6");

  isPublic(address: string): boolean {
    if (isIP(address) === 4) return !this.#special4.check(address, "ipv4");
    return isIP(address) === 6 && this.#public6.check(address, "ipv6") &&
      !this.#special6.check(address, "ipv6");
  }
}

let rule: AddressRule | undefined;

/** Returns whether an address is reached by the public internet alone; other spellings than the usual are not. */
export const isPublicAddress = (address: string): boolean =>
  (rule ??= new AddressRule()).isPublic(address);

const NETWORK: PublicNetwork = {
  lookup: async (name) => {
    const { lookup } = await import("node:dns/promises");
    return await lookup(name, { all: true });
  },
  allows: isPublicAddress,
};

/**
 * Fetches a document by GET. Redirects are not followed, and their answer is returned.
 *
 * @param url of the scheme `https:`, with a name, no address
 * @returns with its whole body
 * @throws {Error} for what is at no public address, takes too long, or is too large; the message is the
 * same for every address that is not public
 */
export async function fetchPublic(
  url: URL,
  { maxBytes, timeoutMs }: DocumentBounds,
  network: PublicNetwork = NETWORK,
): Promise<Response> {
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (url.protocol !== "https:" || isIP(name) !== 0) throw notPublic();
  const signal = AbortSignal.timeout(timeoutMs);
  if (network === NETWORK && isCloudflare()) {
    const answer = await fetch(url, {
      redirect: "manual",
      signal,
      headers: ACCEPT,
    });
    return await bounded(answer, maxBytes);
  }
  const addresses = await inTime(network.lookup(name), signal)
    .catch(() => []);
  signal.throwIfAborted();
  const isPublic = addresses.length > 0 &&
    addresses.every(({ address }) => network.allows(address));
  if (!isPublic) throw notPublic();
  // Many hosts have IPv6 addresses, and no way there.
  const inOrder = addresses.toSorted((a, b) => a.family - b.family);
  const answer = await connectToAny(url, inOrder, signal, network.ca);
  return await toResponse(answer, maxBytes);
}

const ACCEPT = { accept: "application/json" };

const isCloudflare = (): boolean =>
  globalThis.navigator?.userAgent === "Cloudflare-Workers";

const notPublic = (): Error => new Error("it is not at a public address");

const tooLarge = (maxBytes: number): Error =>
  new Error(`it has more than ${maxBytes} bytes`);

/** Waits for work that cannot be ended. */
async function inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const expire = () => reject(signal.reason);
  signal.addEventListener("abort", expire);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", expire);
  }
}

/** Connects to the first address that can be reached. */
async function connectToAny(
  url: URL,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
  ca: string | undefined,
): Promise<IncomingMessage> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await connect(url, address, signal, ca);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Sends the request to one address, with the name for TLS and HTTP. */
async function connect(
  url: URL,
  { address, family }: LookupAddress,
  signal: AbortSignal,
  ca: string | undefined,
): Promise<IncomingMessage> {
  const { request } = await import("node:https");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    host: address,
    family,
    port: url.port || 443,
    servername: url.hostname,
    path: url.pathname + url.search,
    headers: { ...ACCEPT, host: url.host },
    agent: false,
    signal,
    ...(ca !== undefined && { ca }),
  });
  sent.on("response", resolve);
  sent.on("error", reject);
  sent.end();
  return await promise;
}

async function toResponse(
  message: IncomingMessage,
  maxBytes: number,
): Promise<Response> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of message) {
      size += part.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      parts.push(part);
    }
  } finally {
    message.destroy();
  }
  const { statusCode: status = 500 } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const body = BODILESS.includes(status) ? null : Buffer.concat(parts);
  return new Response(body, { status, headers });
}

/** Statuses whose responses have no body. */
const BODILESS: readonly number[] = [204, 205, 304];

/**
 * Reads the body of a response, up to a bound.
 *
 * @throws {Error} for one that is larger
 */
export async function bounded(
  answer: Response,
  maxBytes: number,
): Promise<Response> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    parts.push(part);
  }
  const { status, headers } = answer;
  const body = BODILESS.includes(status) ? null : Buffer.concat(parts);
  return new Response(body, { status, headers });
}
