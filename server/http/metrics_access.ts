import type { IncomingMessage } from "node:http";
import type { Authenticator } from "../auth/authenticator.ts";
import { isLoopback } from "./bind_rule.ts";
import { clientAddress } from "../limits/client_address.ts";

/**
 * Returns whether a request may read the metrics on the address of the clients (spec §10).
 *
 * With authentication, every client that may connect. Without, only this machine, and no request that
 * a proxy forwarded.
 *
 * @param proxies number of trusted proxies in front of the server
 */
export async function mayReadMetrics(
  { headers, socket }: Pick<IncomingMessage, "headers" | "socket">,
  authenticator: Authenticator | undefined,
  proxies: number,
): Promise<boolean> {
  const peer = socket.remoteAddress ?? "";
  const forwarded = headers["x-forwarded-for"];
  if (authenticator !== undefined) {
    const address = clientAddress(peer, forwarded, proxies);
    const verdict = await authenticator.authenticate({
      headers,
      auth: {},
      address,
    });
    return "principal" in verdict;
  }
  const isForwarded = forwarded !== undefined ||
    headers.forwarded !== undefined || headers.via !== undefined;
  return !isForwarded && isLoopback(clientAddress(peer, undefined, 0));
}
