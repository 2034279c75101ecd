import {
  type FetchLike,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from "@modelcontextprotocol/client";

/** Connects a client with an MCP server over HTTP; once it is closed, its streams are, too. */
export const httpTransport = (
  url: URL,
  options: StreamableHTTPClientTransportOptions = {},
): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(url, {
    ...options,
    fetch: endingFetch(options.fetch),
  });

/**
 * Wraps `fetch` so that an abort ends a body as well: Deno's own forgets the signal once the response
 * is garbage-collected, and a client that is closed would go on to read.
 */
export const endingFetch =
  (inner: FetchLike = fetch): FetchLike => async (url, init) => {
    const response = await inner(url, init);
    if (response.body === null || !init?.signal) return response;
    const ending = response.body.pipeThrough(new TransformStream(), {
      signal: init.signal,
    });
    return new Response(ending, response);
  };
