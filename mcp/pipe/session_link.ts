import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { failureFor } from "./messages.ts";
import type { Reach } from "./reach.ts";

/** What a link needs. */
interface LinkParts extends Reach {
  /** Takes what the server says. */
  readonly deliver: (message: JSONRPCMessage) => void;
  /** Told when the server does not know the session any more. */
  readonly lost: () => void;
}

/** How soon, and how often, the stream on which a session tells of changes is opened again. */
const RECONNECTION = {
  initialReconnectionDelay: 200,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5_000,
  maxRetries: Infinity,
};

/** One session over HTTP; for MCP 2026 just the way there, since that has no sessions. */
export class SessionLink {
  readonly #transport: StreamableHTTPClientTransport;
  /** Who waits for the answer to `initialize`. */
  #answered: ((answer: JSONRPCMessage) => void) | undefined;

  /** Makes a link that has sent nothing. */
  constructor({ url, fetch, headers, deliver, lost }: LinkParts) {
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        // The stream of changes finds it out, too, and nobody else would notice.
        const isOurs = response.status === 404 && init?.method === "GET";
        if (isOurs) lost();
        return response;
      },
      requestInit: { headers },
      reconnectionOptions: RECONNECTION,
    });
    transport.onmessage = (message) => {
      const version = isJSONRPCResultResponse(message) &&
        message.result.protocolVersion;
      if (typeof version === "string") transport.setProtocolVersion(version);
      const answered = "method" in message ? undefined : this.#answered;
      if (answered === undefined) return deliver(message);
      this.#answered = undefined;
      answered(message);
    };
    this.#transport = transport;
    void transport.start();
  }

  /** Whether the server has opened a session. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** Sends a message; resolves when the server has taken it, or has answered. */
  async send(
    message: JSONRPCMessage,
    options?: Parameters<StreamableHTTPClientTransport["send"]>[1],
  ): Promise<void> {
    await this.#transport.send(message, options);
  }

  /**
   * Opens a session as the client did before, without its noticing.
   *
   * @returns the server's capabilities
   * @throws {Error} why there is no session
   */
  async reopen(initialize: JSONRPCRequest): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>();
    this.#answered = resolve;
    const onRequestStreamEnd = () =>
      resolve(failureFor(initialize.id, "the connection ended"));
    await this.send(initialize, { onRequestStreamEnd });
    const answer = await promise;
    if (!isJSONRPCResultResponse(answer)) {
      throw new Error(
        isJSONRPCErrorResponse(answer) ? answer.error.message : "no answer",
      );
    }
    await this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer.result.capabilities;
  }

  /** Ends the session, if there is one, and all that runs in it. */
  async end(): Promise<void> {
    await this.#transport.terminateSession();
  }

  /** Ends all requests and streams, and sends nothing any more. */
  async close(): Promise<void> {
    await this.#transport.close();
  }
}
