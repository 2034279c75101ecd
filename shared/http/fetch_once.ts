/** What Deno makes for requests that share no connection with others. */
interface HttpClient {
  close(): void;
}

type CreateHttpClient = (
  options: { readonly poolMaxIdlePerHost: number },
) => HttpClient;

/**
 * Sends a request at most once.
 *
 * Deno's own `fetch` repeats a request when its connection was used before and ends without an answer,
 * since it may have been closed meanwhile; but the server may have run the request, too. So each gets a
 * connection of its own there. Other platforms repeat no request with a body.
 */
export async function fetchOnce(
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const createHttpClient = denoHttpClients();
  if (createHttpClient === undefined) return await fetch(url, init);
  const client = createHttpClient({ poolMaxIdlePerHost: 0 });
  try {
    const withClient: RequestInit & { client: HttpClient } = {
      ...init,
      client,
    };
    return await fetch(url, withClient);
  } finally {
    client.close(); // of no effect on the body
  }
}

/** Returns `Deno.createHttpClient`, on Deno. */
function denoHttpClients(): CreateHttpClient | undefined {
  // Not a use of the Deno global, which Node lacks: a look whether there is one.
  const runtime: unknown = Reflect.get(globalThis, "Deno");
  const create: unknown = runtime instanceof Object
    ? Reflect.get(runtime, "createHttpClient")
    : undefined;
  return isCreateHttpClient(create) ? create : undefined;
}

const isCreateHttpClient = (value: unknown): value is CreateHttpClient =>
  typeof value === "function";
