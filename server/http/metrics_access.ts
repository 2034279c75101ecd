import type { IncomingMessage } from "node:http";
import type { Authenticator } from "../auth/authenticator.ts";
import { isLoopback } from "./bind_rule.ts";
import { clientAddress } from "../limits/client_address.ts";

/**
 * Tells whether a request may read the metrics beside everybody's traffic (spec §10).
 *
 * With authentication, whoever it lets in. Without, only this machine itself: a request that a
 * proxy forwards is somebody else's.
 *
 * @param proxies how many proxies of the operator's own stand in front of the server
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
  const forwardedBySomebody = forwarded !== undefined ||
    headers.forwarded !== undefined || headers.via !== undefined;
  return !forwardedBySomebody && isLoopback(clientAddress(peer, undefined, 0));
}
