import type {
  JSONRPCMessage,
  JSONRPCRequest,
} from "@modelcontextprotocol/client";

/** Answers the messages of the program that has started the pipe. */
export interface Backend {
  /** Takes a message; answers come by themselves. */
  send(message: JSONRPCMessage): void;
  /** Cancels all calls, and ends. */
  close(): Promise<void>;
}

/** What the program behind the pipe has opened, for another backend to take over. */
export interface Opened {
  /** Its `initialize` (2025), once it has been answered. */
  readonly initialize?: JSONRPCRequest;
  /** Its streams of changes (2026). */
  readonly listens: readonly JSONRPCRequest[];
}
