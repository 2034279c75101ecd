import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Receives the authorization code from the browser, on the loopback address. */
export interface RedirectListener {
  /** The redirect address for the browser. */
  readonly url: string;
  /** What the browser brings; rejects when the user, or the authorization server, refused. */
  readonly answer: Promise<RedirectAnswer>;
  /** Stops waiting; `answer` stays pending. */
  close(): void;
}

/** What a redirect brings. */
export interface RedirectAnswer {
  /** The authorization code. */
  readonly code: string;
  /** The issuer of the authorization server, if it names itself (RFC 9207). */
  readonly issuer: string | null;
}

/**
 * Listens for one redirect.
 *
 * @param state the expected state; requests with another are rejected
 * @param port 0 for any free port
 * @param host how the redirect address names this machine
 * @throws when the port is taken
 */
export async function listenForRedirect(
  state: string,
  port: number,
  host: "127.0.0.1" | "localhost" = "127.0.0.1",
): Promise<RedirectListener> {
  const awaited = Promise.withResolvers<RedirectAnswer>();
  awaited.promise.catch(() => {}); // may be unobserved
  const server = createServer((request, response) => {
    // Any program on this machine may send requests, and their target may be no URL.
    const [path, ...query] = (request.url ?? "").split("?");
    const searchParams = new URLSearchParams(query.join("?"));
    if (path !== CALLBACK_PATH || searchParams.get("state") !== state) {
      const text = "This is not the answer that is waited for.";
      return answer(response, 400, text);
    }
    const code = searchParams.get("code");
    const outcome = code === null
      ? "the authorization was refused"
      : "the Computer is authorized";
    answer(response, 200, `You can close this page: ${outcome}.`);
    if (code !== null) {
      awaited.resolve({ code, issuer: searchParams.get("iss") });
    } else awaited.reject(new Error(refusalCode(searchParams.get("error"))));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host}:${address.port}${CALLBACK_PATH}`,
    answer: awaited.promise,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const CALLBACK_PATH = "/callback";

/** Returns the code of a refusal; any program may send one, so that nothing else is shown. */
const refusalCode = (error: string | null): string =>
  error !== null && /^[a-z_]{1,40}$/.test(error) ? error : "refused";

/** Answers the browser; the headers keep the page's address private, as it contains the code. */
const answer = (response: ServerResponse, status: number, text: string) =>
  void response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  }).end(text);
