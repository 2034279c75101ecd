/**
 * The pipe between a program's stdio and an office.
 *
 * It looks for MCP at the Server. Where that serves it, messages pass to it (`Remote`); where the
 * Server has none, this process takes the office's seat and answers itself (`Local`); where the
 * Server is away, it answers with the reason, looks again, and hands over what the client has
 * opened.
 *
 * @module
 */
import { PassThrough, type Readable, type Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import {
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  ReadBuffer,
  type RequestId,
  serializeMessage,
} from "@modelcontextprotocol/client";
import type { SmcpAgentOptions } from "../../agent/mod.ts";
import type { ViewOptions } from "../http/views.ts";
import type { AgentProvider } from "../office/office_view.ts";
import {
  type Backend,
  cancelledBy,
  explain,
  explainStatus,
  isListen,
  subscriptionOf,
} from "./messages.ts";
import { OwnSeat } from "./own_seat.ts";
import type { Reach } from "./reach.ts";
import { Remote } from "./remote.ts";
import { messageOf } from "../tools/result.ts";
import { sleep } from "../../shared/async.ts";

/** Options of `pipeOffice`. */
export interface PipeOptions {
  /** How to reach the Server; its `headers` carry the credentials, and its `auth` is for the seat alone. */
  readonly agent: SmcpAgentOptions & { readonly url: string };
  /** The office. */
  readonly office: string;
  /** How its client sees the office. */
  readonly view?: ViewOptions;
  /** Takes lines about what goes wrong; default none. */
  readonly log?: (line: string) => void;
}

/** What the pipe is made of beside its options. */
interface PipeParts {
  /** Makes the MCP server of the office in this process. */
  readonly serve: (agent: AgentProvider) => LocalServer;
  /** Where the Server serves MCP. */
  readonly reach: Reach;
  /** The messages of the client. */
  readonly stdin: Readable;
  /** The messages to it. */
  readonly stdout: Writable;
}

/** Milliseconds between two looks at a Server that cannot be used. */
const RETRY_MS = 1_000;

/**
 * Connects the program that has started this process with an office: through its Server where that
 * serves MCP, else by a seat of its own. It outlives a Server that is away, and a seat that is taken:
 * a program shows the end of its MCP server as an error that nobody understands.
 */
export class Pipe {
  /** Resolves once the client has gone, or {@linkcode close} was called. */
  readonly closed: Promise<void>;
  readonly #options: PipeOptions;
  readonly #parts: PipeParts;
  readonly #host: StdioServerTransport;
  readonly #end = new AbortController();
  readonly #resolve: () => void;
  /** What the client has opened; of its `initialize` only what was answered. */
  readonly #listens = new Map<RequestId, JSONRPCRequest>();
  #initialize: JSONRPCRequest | undefined;
  /** The resources that a client before 2026 has subscribed to. */
  readonly #subscribed = new Set<string>();
  #local: Local | undefined;
  /** Who may talk to the client. */
  #voice: Backend | undefined;
  /** Where messages go; without one they wait. */
  #backend: Backend | undefined;
  #waiting: JSONRPCMessage[] = [];
  #closing: Promise<void> | undefined;

  /** Connects at once. */
  constructor(options: PipeOptions, parts: PipeParts) {
    this.#options = options;
    this.#parts = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#resolve = resolve;
    this.#host = new StdioServerTransport(parts.stdin, parts.stdout);
    this.#host.onmessage = (message) => this.#take(message);
    this.#host.onerror = (error) => this.#log(messageOf(error));
    this.#host.onclose = () => void this.close();
    void this.#host.start();
    this.#connect().catch((error) => {
      if (!this.#end.signal.aborted) this.#log(messageOf(error));
    });
  }

  /** Cancels all calls, and ends sessions. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#end.abort(new Error("The pipe is closed"));
    const voice = this.#voice;
    this.#voice = undefined;
    await voice?.close();
    await this.#host.close();
    this.#resolve();
  }

  /** Finds who answers, and goes on to look where that is nobody. */
  async #connect(): Promise<void> {
    const signal = this.#end.signal;
    const { reach } = this.#parts;
    let found = await probe(reach, signal);
    if (found.kind === "served") return this.#use(this.#newRemote());
    const changed = () => {
      this.#log(seat.state);
      if (this.#local) void this.#local.refresh();
      else this.#serveHere(seat);
    };
    const reason = found.kind === "away" ? found.reason : "";
    const seat = new OwnSeat({ ...this.#options, changed }, reason);
    if (found.kind === "away") {
      this.#log(found.reason);
      this.#serveHere(seat);
    }
    while (found.kind !== "absent") {
      await sleep(RETRY_MS, signal);
      found = await probe(reach, signal);
      if (found.kind === "served" && await this.#switch()) return;
    }
    await seat.hold(signal);
  }

  #newRemote(): Remote {
    const remote: Remote = new Remote({
      ...this.#parts.reach,
      subscribed: this.#subscribed,
      deliver: (message) => this.#deliver(message, remote),
      log: (line) => this.#log(line),
    });
    return remote;
  }

  #serveHere(seat: OwnSeat): void {
    const local: Local = new Local(
      this.#parts.serve(seat.provide),
      (message) => this.#deliver(message, local),
    );
    this.#local = local;
    this.#use(local);
  }

  #use(backend: Backend): void {
    this.#voice = this.#backend = backend;
    for (const message of this.#waiting.splice(0)) backend.send(message);
  }

  /**
   * Lets the Server answer from now on.
   *
   * @returns whether it can
   */
  async #switch(): Promise<boolean> {
    const [local, remote] = [this.#voice, this.#newRemote()];
    this.#backend = undefined;
    this.#voice = remote;
    try {
      await remote.takeOver({
        ...(this.#initialize && { initialize: this.#initialize }),
        listens: [...this.#listens.values()],
      });
    } catch (error) {
      this.#log(messageOf(error));
      await remote.close();
      if (local && !this.#end.signal.aborted) this.#use(local);
      return false;
    }
    this.#use(remote);
    await local?.close();
    return true;
  }

  #take(message: JSONRPCMessage): void {
    if (isListen(message)) this.#listens.set(message.id, message);
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) this.#listens.delete(cancelled);
    const subscription = subscriptionOf(message);
    if (subscription?.isWanted) this.#subscribed.add(subscription.uri);
    else if (subscription) this.#subscribed.delete(subscription.uri);
    if (isJSONRPCRequest(message) && isInitializeRequest(message)) {
      this.#initialize = message;
    }
    if (this.#backend) this.#backend.send(message);
    else this.#waiting.push(message);
  }

  #deliver(message: JSONRPCMessage, from: Backend): void {
    if (from !== this.#voice) return;
    if (!("method" in message) && message.id !== undefined) {
      this.#listens.delete(message.id); // it was refused
    }
    this.#host.send(message).catch(() => {
      // The client has gone, and with it the pipe.
    });
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

/** What is at the address of an office's MCP server. */
type Found =
  | { readonly kind: "served" }
  /** The Server has no MCP: one of another make, an older one, or one without `--mcp`. */
  | { readonly kind: "absent" }
  /** Not now, and perhaps later. */
  | { readonly kind: "away"; readonly reason: string };

/** Statuses of a Server that does not know the path. */
const ABSENT = [404, 501];
/** Statuses that pass: the Server is busy or ending, or somebody's own Agent has the office's seat. */
const AWAY = [429, 502, 503, 504];

/** Finds out whether a Server serves MCP, by a request that changes nothing in any revision of MCP. */
async function probe(
  { url, fetch, headers }: Reach,
  signal: AbortSignal,
): Promise<Found> {
  let response: Response;
  const accepting = new Headers(headers);
  accepting.set("accept", "text/event-stream");
  try {
    response = await fetch(url, { headers: accepting, signal });
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "away", reason: explain(url, error) };
  }
  const { status } = response;
  if (response.ok) {
    await response.body?.cancel();
    return { kind: "served" }; // a stream of somebody else's MCP server
  }
  const body = await response.text().catch(() => "");
  if (ABSENT.includes(status)) return { kind: "absent" };
  return AWAY.includes(status)
    ? { kind: "away", reason: explainStatus(url, status, body) }
    : { kind: "served" };
}

/** The part of an `OfficeMcp` that serves a pipe. */
interface LocalServer {
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
class Local implements Backend {
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
      // There is still no Agent; a request for tools says why.
    });
  }

  /** Cancels all calls, and ends. */
  async close(): Promise<void> {
    await this.#server.close();
    this.#stdin.destroy();
  }
}
