import process from "node:process";
import type { Readable, Writable } from "node:stream";
import type {
  JSONRPCMessage,
  Server,
  ServerEvent,
} from "@modelcontextprotocol/server";
import {
  serveStdio,
  StdioServerTransport,
} from "@modelcontextprotocol/server/stdio";
import { RequestIds } from "./request_ids.ts";
import { subscribeIn } from "./resources.ts";
import { createOfficeServer, notifyClient } from "./server.ts";
import type { ServerParts } from "./server_parts.ts";
import { ownerOf } from "../caller.ts";
import {
  errorAnswer,
  listenForTasks,
  taskEvent,
  withTasks,
} from "../tasks/task_listening.ts";
import { ListenStreams } from "../resources/watches.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** The streams to a client that has started this process. */
export interface StdioStreams {
  /** What the client writes; default the process's stdin. */
  readonly stdin?: Readable;
  /** What it reads; default the process's stdout, where nothing else may be written. */
  readonly stdout?: Writable;
}

/** The names of {@linkcode StdioStreams}. */
export const STREAM_NAMES = {
  stdin: true,
  stdout: true,
} satisfies NamesOf<StdioStreams>;

/** A connection over stdio. */
export interface StdioConnection {
  /** Resolves once the client has gone, or {@linkcode close} was called. */
  readonly closed: Promise<void>;
  /** Ends it, and cancels its calls. */
  close(): Promise<void>;
}

/** Serves MCP of both eras to one client over two streams. */
export function serveOfficeStdio(
  parts: ServerParts,
  { stdin = process.stdin, stdout = process.stdout }: StdioStreams,
): StdioConnection {
  // A client probes the era with a server that is thrown away.
  const servers = new Set<Server>();
  const notify = (event: ServerEvent) => {
    for (const server of servers) notifyClient(server, event);
  };
  const offs = [
    parts.view.onChange(notify),
    parts.tasks.onChange((task) => notify(taskEvent(task))),
  ];
  const ids = new RequestIds();
  const transport = new StdioServerTransport(stdin, stdout);
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    for (const each of withTasks(message, parts.tasks)) {
      await send(ids.giveBack(each));
    }
  };
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const handle = serveStdio(async ({ era }) => {
    const purpose = era === "legacy" ? "2025" : "2026";
    const server = await createOfficeServer(parts, purpose);
    servers.add(server);
    server.onclose = () => void servers.delete(server);
    return server;
  }, { transport });
  const listening = new ListenStreams(subscribeIn(parts));
  const { onclose, onmessage } = transport;
  const receive = (message: JSONRPCMessage) => {
    try {
      const listen = listenForTasks(message, parts.tasks, ownerOf(undefined));
      onmessage?.(listen ?? message);
    } catch (error) {
      void transport.send(errorAnswer(message, error));
    }
  };
  transport.onmessage = (message) => {
    for (const each of ids.take(message)) {
      listening.saw(each);
      receive(each);
    }
  };
  transport.onclose = () => {
    onclose?.();
    listening.end();
    for (const off of offs) off();
    resolve();
  };
  return { closed, close: () => handle.close() };
}
