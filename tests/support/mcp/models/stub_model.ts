import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A model that wants one tool, and then tells what it says. */
export interface StubModel extends AsyncDisposable {
  readonly url: string;
  /** The texts of the tool's results, as the client has sent them to the model. */
  readonly results: readonly string[];
}

/** An event of a stream of server-sent events. */
export type ModelEvent = Readonly<Record<string, unknown>> & {
  readonly type: string;
};

/** An answer: the events of a stream, or the body as a whole. */
export type ModelAnswer = readonly ModelEvent[] | {
  readonly body: Readonly<Record<string, unknown>>;
};

/** How a model's API looks. */
export interface ModelApi {
  /** The end of the path of a request for an answer. */
  readonly path: string;
  /** The result of the tool in a request's body; `undefined` before it was called. */
  resultIn(body: unknown): string | undefined;
  /** Whether a request can be answered with a call. */
  hasTools(body: unknown): boolean;
  /** The answer that calls the tool. */
  readonly call: ModelAnswer;
  /** The answer that ends the turn, given the tool's result if there is one. */
  end(result: string | undefined): ModelAnswer;
}

/** Starts a model on a free port of this machine. */
export async function startModel(api: ModelApi): Promise<StubModel> {
  const results: string[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of request) pieces.push(piece);
    const path = new URL(request.url ?? "", "http://stub").pathname;
    if (request.method !== "POST" || !path.endsWith(api.path)) {
      response.writeHead(404).end();
      return;
    }
    const body: unknown = JSON.parse(Buffer.concat(pieces).toString());
    const result = api.resultIn(body);
    if (result !== undefined) results.push(result);
    const calls = result === undefined && api.hasTools(body);
    const answer = calls ? api.call : api.end(result);
    if ("body" in answer) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of answer) {
      response.write(
        `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      );
    }
    response.end();
  });
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    results,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
