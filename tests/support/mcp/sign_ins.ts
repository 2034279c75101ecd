/**
 * A gateway whose clients call by sign-ins: the contract of a Server's own, without its pages.
 *
 * @module
 */
import { mcpGateway, type McpGatewayOptions } from "../../../mcp/mod.ts";
import type { CallerGrant, GatewayCaller } from "../../../shared/gateway.ts";
import type { ComputerChoice } from "../../../shared/computer_choice.ts";

/** Names the sign-in by which a request is sent. */
const SIGN_IN = "x-test-sign-in";

/** A request of a sign-in, for `fetch` and `post`. */
export const signedIn = (id: string): Record<string, string> => ({
  [SIGN_IN]: id,
});

/** How clients reach an office by a sign-in. */
export const bySignIn = (url: URL, id: string, query = "") => ({
  url: new URL(query, url),
  fetch: (input: string | URL, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set(SIGN_IN, id);
    return fetch(input, { ...init, headers });
  },
});

/** Which Computers the sign-in with an id may use. */
export type Choices = Readonly<Record<string, ComputerChoice>>;

/**
 * Makes a gateway that takes a request with the name of a sign-in for one of it.
 *
 * @param principalOf returns whose it is; by default that of the request
 */
export function signInGateway(
  choices: Choices,
  options?: McpGatewayOptions,
  principalOf?: (id: string) => string,
): ReturnType<typeof mcpGateway> {
  const make = mcpGateway(options);
  const as = (caller: GatewayCaller, id: unknown): GatewayCaller => {
    const computers = choices[`${id}`];
    if (typeof id !== "string" || computers === undefined) return caller;
    const grant: CallerGrant = { id, computers };
    const principal = principalOf?.(id) ?? caller.principal;
    return { ...caller, ...(principal !== undefined && { principal }), grant };
  };
  return (host) => {
    const gateway = make(host);
    const handle = gateway.handle.bind(gateway);
    const answer = gateway.answer?.bind(gateway);
    gateway.handle = (request, caller, body) =>
      handle(request, as(caller, request.headers.get(SIGN_IN)), body);
    gateway.answer = async (post, caller) =>
      await answer?.(post, as(caller, post.headers[SIGN_IN]));
    return gateway;
  };
}
