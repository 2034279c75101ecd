import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Waits on the loopback address for the browser to come back with an authorization code. */
export interface RedirectListener {
  /** Where the browser is to be sent. */
  readonly url: string;
  /** The code; rejects when the person, or the authorization server, refused. */
  readonly code: Promise<string>;
  /** Stops waiting; `code` stays pending. */
  close(): void;
}

/**
 * Listens for one answer.
 *
 * @param state what the answer has to repeat; any other is turned away
 * @param port 0 for a free one
 * @throws when the port is taken
 */
export async function listenForRedirect(
  state: string,
  port: number,
): Promise<RedirectListener> {
  const code = Promise.withResolvers<string>();
  code.promise.catch(() => {}); // may be nobody's business
  const server = createServer((request, response) => {
    // Not every target of a request is a URL, and anybody on this machine may send one.
    const [path, ...query] = (request.url ?? "").split("?");
    const searchParams = new URLSearchParams(query.join("?"));
    if (path !== PATH || searchParams.get("state") !== state) {
      return answer(
        response,
        400,
        "This is not the answer that is waited for.",
      );
    }
    const given = searchParams.get("code");
    if (given !== null) {
      answer(
        response,
        200,
        "You can close this page: the Computer is authorized.",
      );
      return code.resolve(given);
    }
    answer(
      response,
      200,
      "You can close this page: the authorization was refused.",
    );
    code.reject(new Error("The authorization was refused"));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}${PATH}`,
    code: code.promise,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const PATH = "/callback";

/** The code is in the address of the page: it must stay there. */
const answer = (response: ServerResponse, status: number, text: string) =>
  void response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  }).end(text);
