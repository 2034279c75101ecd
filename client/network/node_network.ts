/**
 * The network to a Server in Deno, Node and similar runtimes: through a proxy, and with certificates.
 * Bundles for browsers and Workers have `web_network.ts` in its place (tools/npm/npm_package.ts).
 *
 * @module
 */
import type { UrlOptions } from "../options.ts";
import type { ProxyRoute } from "./proxy.ts";
import { hasNodeModules, nodeModule } from "../node_modules.ts";
import { isTls } from "../server_url.ts";
import * as webNetwork from "./web_network.ts";

export { proxyRoute, unreadableExemptions } from "./proxy.ts";
export { checkTls, tlsReason } from "./tls.ts";

/** A request, with what leads it to its Server, and what ends it. */
export interface PageRequest {
  readonly options: Pick<UrlOptions, "url" | "headers" | "tls">;
  /** The route through a proxy, if there is one. */
  readonly route: ProxyRoute | undefined;
  readonly signal: AbortSignal;
}

/**
 * Requests a page without following a redirect.
 *
 * @throws when there is no answer, or none with a body
 */
export async function requestPage(
  url: string,
  request: PageRequest,
): Promise<AsyncIterable<Uint8Array>> {
  if (!hasNodeModules()) return await webNetwork.requestPage(url, request);
  const { options: { headers, tls }, route, signal } = request;
  // `fetch` has no option for certificates and proxies that Deno and Node share.
  const sent = nodeModule(isTls(url) ? "node:https" : "node:http")
    ?.request(url, { ...tls, headers, signal, agent: route?.agent ?? false });
  if (sent === undefined) throw new Error("no node:http");
  return await new Promise((resolve, reject) => {
    sent.on("error", reject);
    sent.on(
      "response",
      (answer) => answer.statusCode === 200 ? resolve(answer) : reject(answer),
    );
    sent.end();
  });
}
