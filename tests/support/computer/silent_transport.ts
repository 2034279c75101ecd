import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types";

/** Answers of a {@linkcode SilentTransport}: the rest of a JSON-RPC answer, or nothing. */
export type Answer = { result: Record<string, unknown> } | {
  error: { code: number; message: string };
} | undefined;

/** An MCP server that starts a session and answers nothing else, unless a test makes it answer. */
export class SilentTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Sent messages, in order; a listener may await the next. */
  readonly sent: JSONRPCMessage[] = [];
  readonly #answer: (request: JSONRPCRequest) => Answer;

  constructor(answer: (request: JSONRPCRequest) => Answer = () => undefined) {
    this.#answer = answer;
  }

  /** The methods of messages sent since the session began. */
  get methods(): string[] {
    return this.sent.slice(2).flatMap((message) =>
      "method" in message ? [message.method] : []
    );
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.sent.push(message);
    if (!("method" in message && "id" in message)) return Promise.resolve();
    const answer = message.method === "initialize"
      ? {
        result: {
          protocolVersion: String(message.params?.protocolVersion),
          capabilities: { tools: {} },
          serverInfo: { name: "silent", version: "1.0.0" },
        },
      }
      : this.#answer(message);
    if (answer) {
      queueMicrotask(() =>
        this.onmessage?.({ jsonrpc: "2.0", id: message.id, ...answer })
      );
    }
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }
}
