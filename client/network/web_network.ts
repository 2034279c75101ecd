/**
 * The network to a Server where the platform has settings of its own for proxies and certificates: what
 * bundles for browsers and Workers have in place of `node_network.ts`.
 *
 * @module
 */

/** @throws {TypeError} for certificates */
export function checkTls(tls: object | undefined): void {
  const [first] =
    Object.entries(tls ?? {}).find(([, pem]) => pem !== undefined) ?? [];
  if (first === undefined) return;
  throw new TypeError(
    `Cannot use tls.${first} in a browser, which presents its own certificates: leave it out`,
  );
}

/** @throws {TypeError} for a proxy */
export function proxyRoute(
  { proxy = false }: { readonly proxy?: string | false | undefined },
): undefined {
  if (proxy === false) return undefined;
  throw new TypeError(
    "Cannot use the option proxy in a browser, which has settings of its own: leave it out",
  );
}

/** Returns `undefined`: there is no environment. */
export const unreadableExemptions = (_: object): undefined => undefined;

/** Returns `undefined`: the platform hides the reason of a failed handshake. */
export const tlsReason = (): Promise<undefined> => Promise.resolve(undefined);

/** A request, and what ends it. */
interface WebRequest {
  readonly options: { readonly headers?: Record<string, string> };
  readonly signal: AbortSignal;
}

/**
 * Requests a page without following a redirect.
 *
 * @throws when there is no answer, or none with a body
 */
export async function requestPage(
  url: string,
  { options: { headers = {} }, signal }: WebRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const answer = await fetch(url, { headers, signal, redirect: "error" });
  if (!answer.ok || answer.body === null) throw new Error("no answer");
  return answer.body;
}
