import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { refusalOf } from "./authorization_error.ts";

/** The source of access tokens for one MCP server. */
export interface Authorizer {
  /** The token to try. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token after a request with the last one, or without one, was refused.
   *
   * @param refused the refused token
   * @param answer the 401 response, which tells where to get tokens
   * @param fetch sends requests to the authorization server
   * @throws {AuthorizationError} when the user must act
   */
  renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void>;
}

/**
 * Creates a `fetch` that adds a token if there is one, and rejects with an error of its own when an
 * MCP server denies access (spec §6).
 *
 * The MCP SDK's transports can add tokens too, but each concurrent request renews the token: with a
 * single-use refresh token, all but one would fail.
 *
 * @param authorizer absent when the configuration has credentials
 * @param refused called with each refusal, as over SSE the error does not reach the caller
 */
export const authorizedFetch = (
  fetch: FetchLike,
  authorizer: Authorizer | undefined,
  refused: (error: unknown) => void,
): FetchLike =>
async (url, init = {}) => {
  try {
    const token = await authorizer?.token();
    let response = await fetch(url, withToken(init, token));
    if (response.status === 401 && authorizer) {
      await response.body?.cancel();
      await authorizer.renew(token, response, fetch);
      response = await fetch(url, withToken(init, await authorizer.token()));
    }
    const isChallenge = response.headers.has("www-authenticate");
    const refusal = refusalOf(response.status, isChallenge);
    // An EventSource would leave the body unread and the connection open.
    if (refusal || !response.ok && init.method !== "POST") {
      await response.body?.cancel();
    }
    if (refusal) throw refusal;
    return response;
  } catch (error) {
    refused(error);
    throw error;
  }
};

function withToken(
  init: RequestInit,
  token: string | undefined,
): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return { ...init, headers };
}
