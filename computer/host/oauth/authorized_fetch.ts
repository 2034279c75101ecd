import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport";
import { refusalOf } from "./authorization_error.ts";

/** Where access tokens for one MCP server come from. */
export interface Authorizer {
  /** The token to try. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token after one, or none, was refused.
   *
   * @param refused what was tried
   * @param answer the HTTP 401, which says where to ask for tokens
   * @param fetch reaches the authorization server
   * @throws {AuthorizationError} when a person has to act
   */
  renew(
    refused: string | undefined,
    answer: Response,
    fetch: FetchLike,
  ): Promise<void>;
}

/**
 * Makes a `fetch` that brings a token along where there is one, and rejects what an MCP server
 * refuses to do with an error of its own (spec §6).
 *
 * The MCP SDK's transports could do the first, but renew once for each request at a time: with a
 * refresh token that is good for one use, all but one of them would fail.
 *
 * @param authorizer absent: the configuration has the credentials
 * @param refused is told each refusal: over SSE the error does not reach the caller
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
    const refusal = refusalOf(response.status);
    // An EventSource would leave it unread, and the connection open.
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
