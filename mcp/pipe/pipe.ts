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
import { PassThrough } from "node:stream";
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
import { type Backend, explain, explainStatus, isListen } from "./messages.ts";
import { type OwnSeat, ownSeat } from "./own_seat.ts";
import type { Reach } from "./reach.ts";
import { Remote } from "./remote.ts";
import { cancelledBy, RequestIds } from "../office/request_ids.ts";
import type { StdioConnection, StdioStreams } from "../office/stdio.ts";
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

/** What the pipe is made of beside its options: where the Server serves MCP, and the client's streams. */
interface PipeParts extends Required<StdioStreams> {
  /** Where the Server serves MCP. */
  readonly reach: Reach;
  /** Makes the MCP server of the office in this process. */
  readonly serve: (agent: AgentProvider) => LocalServer;
}

/** Milliseconds between two looks at a Server that cannot be used. */
const RETRY_MS = 1_000;

/**
 * Connects the program that has started this process with an office: through its Server where that
 * serves MCP, else by a seat of its own. It outlives a Server that is away, and a seat that is taken:
 * a program shows the end of its MCP server as an error that nobody understands.
 */
export function openPipe(
  { agent, office, log = () => {} }: PipeOptions,
  { reach, serve, stdin, stdout }: PipeParts,
): StdioConnection {
  const end = new AbortController();
  const { signal } = end;
  const closed = Promise.withResolvers<void>();
  const host = new StdioServerTransport(stdin, stdout);
  const ids = new RequestIds();
  /** What the client has opened; of its `initialize` only what was answered. */
  const listens = new Map<RequestId, JSONRPCRequest>();
  let initialize: JSONRPCRequest | undefined;
  /** The resources that a client before 2026 has subscribed to. */
  const subscribed = new Set<string>();
  let local: Local | undefined;
  /** Who may talk to the client. */
  let voice: Backend | undefined;
  /** Where messages go; without one they wait. */
  let backend: Backend | undefined;
  const waiting: JSONRPCMessage[] = [];

  let closing: Promise<void> | undefined;
  const close = () => closing ??= closeAll();

  async function closeAll(): Promise<void> {
    end.abort(new Error("The pipe is closed"));
    const last = voice;
    voice = undefined;
    await last?.close();
    await host.close();
    closed.resolve();
  }

  /** Finds who answers, and goes on to look where that is nobody. */
  async function connect(): Promise<void> {
    let found = await probe(reach, signal);
    if (found === "served") return use(newRemote());
    const isAway = found !== "absent";
    const changed = () => {
      log(seat.state());
      if (local) void local.refresh();
      else serveHere(seat);
    };
    const reason = found === "absent" ? "" : found.away;
    const seat = ownSeat(agent, office, changed, reason);
    if (isAway) {
      log(reason);
      serveHere(seat);
    }
    while (found !== "absent") {
      await sleep(RETRY_MS, signal);
      found = await probe(reach, signal);
      if (found === "served" && await switchOver()) return;
    }
    await seat.hold(signal);
  }

  function newRemote(): Remote {
    const remote: Remote = new Remote({
      ...reach,
      subscribed,
      deliver: (message) => deliver(message, remote),
      log,
    });
    return remote;
  }

  function serveHere(seat: OwnSeat): void {
    const here: Local = serveLocally(
      serve(seat.provide),
      (message) => deliver(message, here),
    );
    local = here;
    use(here);
  }

  function use(next: Backend): void {
    voice = backend = next;
    for (const message of waiting.splice(0)) next.send(message);
  }

  /** Lets the Server answer from now on; returns whether it can. */
  async function switchOver(): Promise<boolean> {
    const [before, remote] = [voice, newRemote()];
    backend = undefined;
    voice = remote;
    try {
      await remote.takeOver(initialize, [...listens.values()]);
    } catch (error) {
      log(messageOf(error));
      await remote.close();
      if (before && !signal.aborted) use(before);
      return false;
    }
    use(remote);
    await before?.close();
    return true;
  }

  function take(message: JSONRPCMessage): void {
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) listens.delete(cancelled);
    if (isJSONRPCRequest(message)) remember(message);
    if (backend) backend.send(message);
    else waiting.push(message);
  }

  /** Remembers what the client opens and closes. */
  function remember(request: JSONRPCRequest): void {
    const { method, params: { uri } = {} } = request;
    if (isListen(request)) listens.set(request.id, request);
    if (isInitializeRequest(request)) initialize = request;
    if (typeof uri !== "string") return;
    if (method === "resources/subscribe") subscribed.add(uri);
    if (method === "resources/unsubscribe") subscribed.delete(uri);
  }

  function deliver(message: JSONRPCMessage, from: Backend): void {
    if (from !== voice) return;
    if (!("method" in message) && message.id !== undefined) {
      listens.delete(message.id); // it was refused
    }
    host.send(ids.giveBack(message)).catch(() => {
      // The client has gone, and with it the pipe.
    });
  }

  host.onmessage = (message) => ids.take(message).forEach(take);
  host.onerror = (error) => log(messageOf(error));
  host.onclose = () => void close();
  void host.start();
  connect().catch((error) => {
    if (!signal.aborted) log(messageOf(error));
  });
  return { closed: closed.promise, close };
}

/**
 * What is at the address of an office's MCP server: `absent` where the Server has no MCP (one of another
 * make, an older one, or one without `--mcp`); `away` says why not now, and perhaps later.
 */
type Found = "served" | "absent" | { readonly away: string };

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
    return { away: explain(url, error) };
  }
  const { status } = response;
  if (response.ok) {
    await response.body?.cancel();
    return "served"; // a stream of somebody else's MCP server
  }
  const body = await response.text().catch(() => "");
  if (ABSENT.includes(status)) return "absent";
  return AWAY.includes(status)
    ? { away: explainStatus(url, status, body) }
    : "served";
}

/** The part of an `OfficeMcp` that serves a pipe. */
interface LocalServer {
  serveStdio(streams: StdioStreams): StdioConnection;
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** Answers messages in this process. */
interface Local extends Backend {
  /** Tells the client if it sees something else now. */
  refresh(): Promise<void>;
}

/** @param deliver takes what the server says */
function serveLocally(
  server: LocalServer,
  deliver: (message: JSONRPCMessage) => void,
): Local {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const lines = new ReadBuffer();
  stdout.on("data", (chunk) => {
    lines.append(chunk);
    let message = lines.readMessage();
    for (; message !== null; message = lines.readMessage()) deliver(message);
  });
  server.serveStdio({ stdin, stdout });
  return {
    send: (message) => void stdin.write(serializeMessage(message)),
    refresh: () =>
      server.refresh().catch(() => {
        // There is still no Agent; a request for tools says why.
      }),
    close: async () => {
      await server.close();
      stdin.destroy();
    },
  };
}
