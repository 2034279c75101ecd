import { PassThrough } from "node:stream";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
} from "@modelcontextprotocol/client";
import type { Backend } from "./messages.ts";
import type { StdioConnection, StdioStreams } from "../office/stdio.ts";

/** The part of an `OfficeMcp` that serves a pipe. */
export interface LocalServer {
  serveStdio(streams: StdioStreams): StdioConnection;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** Answers the messages of a pipe in this process. */
export class Local implements Backend {
  readonly #server: LocalServer;
  readonly #stdin = new PassThrough();

  /** @param deliver takes the messages of the server */
  constructor(server: LocalServer, deliver: (message: JSONRPCMessage) => void) {
    this.#server = server;
    const stdout = new PassThrough();
    const lines = new ReadBuffer();
    stdout.on("data", (chunk) => {
      lines.append(chunk);
      let message = lines.readMessage();
      for (; message !== null; message = lines.readMessage()) deliver(message);
    });
    server.serveStdio({ stdin: this.#stdin, stdout });
  }

  /** Passes a message on. */
  send(message: JSONRPCMessage): void {
    this.#stdin.write(serializeMessage(message));
  }

  /** Notifies the client if it sees something else now. */
  async refresh(): Promise<void> {
    await this.#server.refresh().catch(() => {
      // There is still no Agent; a request for tools gets the reason.
    });
  }

  /** Cancels all calls, and ends. */
  async close(): Promise<void> {
    await this.#server.close();
    this.#stdin.destroy();
  }
}
