import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
} from "@modelcontextprotocol/client";
import { PassThrough, type Readable, type Writable } from "node:stream";
import type { Backend } from "./backend.ts";

/** The part of an `OfficeMcp` that serves a pipe. */
export interface LocalServer {
  /** Serves the messages of a stream. */
  serveStdio(streams: { stdin: Readable; stdout: Writable }): {
    readonly closed: Promise<void>;
    close(): Promise<void>;
  };
  /** Asks for the Agent again. */
  refresh(): Promise<void>;
  /** Ends all. */
  close(): Promise<void>;
}

/** Answers messages in this process. */
export class Local implements Backend {
  readonly #server: LocalServer;
  readonly #stdin = new PassThrough();

  /** @param deliver takes what the server says */
  constructor(server: LocalServer, deliver: (message: JSONRPCMessage) => void) {
    this.#server = server;
    const stdout = new PassThrough();
    const lines = new ReadBuffer();
    stdout.on("data", (chunk) => {
      lines.append(chunk);
      let message = lines.readMessage();
      for (; message !== null; message = lines.readMessage()) deliver(message);
    });
    this.#server.serveStdio({ stdin: this.#stdin, stdout });
  }

  /** Passes a message on. */
  send(message: JSONRPCMessage): void {
    this.#stdin.write(serializeMessage(message));
  }

  /** Tells the client if it sees something else now. */
  async refresh(): Promise<void> {
    await this.#server.refresh().catch(() => {
      // There is still no Agent; who asks for tools hears why.
    });
  }

  /** Cancels all calls, and ends. */
  async close(): Promise<void> {
    await this.#server.close();
    this.#stdin.destroy();
  }
}
