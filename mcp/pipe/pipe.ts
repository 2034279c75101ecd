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
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { AgentProvider } from "../office/office_view.ts";
import { ClientLines } from "./client_lines.ts";
import { Conversation } from "./conversation.ts";
import { Local, type LocalServer } from "./local.ts";
import { type Backend, explain, explainStatus } from "./messages.ts";
import { OwnSeat } from "./own_seat.ts";
import type { PipeOptions, Reach } from "./reach.ts";
import { Remote } from "./remote.ts";
import { RequestIds } from "../office/request_ids.ts";
import type { StdioConnection, StdioStreams } from "../office/stdio.ts";
import { messageOf } from "../tools/result.ts";
import { sleep } from "../../shared/async.ts";

/** What the pipe is made of beside its options: where the Server serves MCP, and the client's streams. */
interface PipeParts extends Required<StdioStreams> {
  /** Where the Server serves MCP. */
  readonly reach: Reach;
  /** Makes the MCP server of the office in this process. */
  readonly serve: (agent: AgentProvider) => LocalServer;
}

/** Milliseconds between two looks at a Server that cannot be used. */
const RETRY_MS = 1_000;
/** How long requests may take that are pending when the client sends no more. */
const LAST_ANSWERS_MS = 30_000;

/** Which side answers the client. */
type State =
  /** None: messages wait; `next`, which takes over, may send notifications already. */
  | { readonly kind: "waiting"; readonly next?: Backend }
  /** This process, with the seat of the office, or with the reason why the Server is away. */
  | { readonly kind: "local"; readonly backend: Local }
  /** The Server. */
  | { readonly kind: "remote"; readonly backend: Remote };

/**
 * Connects the program that has started this process with an office: through its Server where that
 * serves MCP, else by a seat of its own. It outlives a Server that is away, and a seat that is taken:
 * programs show the end of an MCP server as an error without its reason.
 */
export class Pipe implements StdioConnection {
  readonly #options: PipeOptions;
  readonly #parts: PipeParts;
  readonly #client: ClientLines;
  readonly #seat: OwnSeat;
  readonly #conversation = new Conversation();
  readonly #ids = new RequestIds();
  readonly #end = new AbortController();
  readonly #closed = Promise.withResolvers<void>();
  #state: State = { kind: "waiting" };
  #closing: Promise<void> | undefined;
  /** Ends the wait for the last answers; present once the client sends no more. */
  #lastAnswers: ReturnType<typeof setTimeout> | undefined;

  /** Begins to read, and to look for the Server. */
  constructor(options: PipeOptions, parts: PipeParts) {
    this.#options = options;
    this.#parts = parts;
    const { agent, office } = options;
    this.#seat = new OwnSeat(agent, office, () => this.#seatChanged());
    this.#client = new ClientLines(parts.stdin, parts.stdout, {
      onMessage: (message) => {
        for (const own of this.#ids.take(message)) this.#conversation.take(own);
        this.#pass();
      },
      onBadLine: ({ problem, answer }) => {
        this.#log(problem);
        this.#conversation.refuse(answer);
        this.#pass();
      },
      onEnd: () => {
        this.#lastAnswers = setTimeout(() => this.close(), LAST_ANSWERS_MS);
        this.#pass();
      },
      onGone: () => void this.close(),
    });
    this.#connect().catch((error) => {
      if (!this.#end.signal.aborted) this.#log(messageOf(error));
    });
  }

  /** Resolves when the pipe is closed, or its client has gone and all its requests are answered. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Cancels all calls, and ends. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    clearTimeout(this.#lastAnswers);
    this.#end.abort(new Error("The pipe is closed"));
    const last = this.#sender;
    this.#state = { kind: "waiting" };
    await last?.close();
    await this.#client.close();
    this.#closed.resolve();
  }

  /** The one whose messages reach the client. */
  get #sender(): Backend | undefined {
    return this.#state.kind === "waiting"
      ? this.#state.next
      : this.#state.backend;
  }

  /** Finds the side that answers, and continues to look while the Server is away. */
  async #connect(): Promise<void> {
    const { reach } = this.#parts;
    const { signal } = this.#end;
    let found = await probe(reach, signal);
    if (found === "served") {
      return this.#use({ kind: "remote", backend: this.#newRemote() });
    }
    if (found !== "absent") {
      this.#log(found.away);
      this.#seat.unavailable(found.away);
      this.#serveHere();
    }
    while (found !== "absent") {
      await sleep(RETRY_MS, signal);
      found = await probe(reach, signal);
      if (found === "served" && await this.#switchOver()) return;
    }
    await this.#seat.hold(signal);
  }

  #seatChanged(): void {
    if (this.#closing) return;
    this.#log(this.#seat.description);
    if (this.#state.kind === "local") void this.#state.backend.refresh();
    else this.#serveHere();
  }

  #newRemote(): Remote {
    const remote: Remote = new Remote({
      ...this.#parts.reach,
      subscribed: this.#conversation.subscribed,
      deliver: (message) => this.#deliver(message, remote),
      log: this.#log,
    });
    return remote;
  }

  #serveHere(): void {
    const backend: Local = new Local(
      this.#parts.serve(this.#seat.provide),
      (message) => this.#deliver(message, backend),
    );
    this.#use({ kind: "local", backend });
  }

  #use(state: State): void {
    this.#state = state;
    this.#pass();
  }

  /** Lets the Server answer from now on; returns whether it can. */
  async #switchOver(): Promise<boolean> {
    const before = this.#state;
    // Its answer would be lost; it comes immediately.
    if (this.#conversation.isOpening) return false;
    const remote = this.#newRemote();
    this.#state = { kind: "waiting", next: remote };
    const { initialize, listens } = this.#conversation;
    try {
      await remote.takeOver(initialize, listens);
    } catch (error) {
      this.#log(messageOf(error));
      await remote.close();
      if (!this.#end.signal.aborted) this.#use(before);
      return false;
    }
    this.#use({ kind: "remote", backend: remote });
    if (before.kind !== "waiting") await before.backend.close();
    return true;
  }

  #deliver(message: JSONRPCMessage, from: Backend): void {
    if (from !== this.#sender) return;
    this.#conversation.deliver(message);
    this.#pass();
  }

  /** Passes on what does not have to wait, in both directions; ends after the last answer. */
  #pass(): void {
    if (this.#closing) return;
    const state = this.#state;
    const conversation = this.#conversation;
    if (state.kind !== "waiting") {
      for (const message of conversation.toSend()) state.backend.send(message);
    }
    for (const message of conversation.toWrite()) {
      this.#client.send(this.#ids.giveBack(message));
    }
    const isLast = this.#lastAnswers !== undefined && conversation.isIdle;
    if (isLast) void this.close();
  }

  readonly #log = (line: string): void => this.#options.log?.(line);
}

/**
 * What is at the address of an office's MCP server: `absent` where the Server has no MCP (one of another
 * make, an older one, or one without `--mcp`); `away` is the reason why not now, and perhaps later.
 */
type Found = "served" | "absent" | { readonly away: string };

/** Statuses of a Server without the path. */
const ABSENT = [404, 501];
/** Statuses that pass: the Server is busy or ending, or another Agent has the office's seat. */
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
    return "served"; // a stream of another MCP server
  }
  const body = await response.text().catch(() => "");
  if (ABSENT.includes(status)) return "absent";
  return AWAY.includes(status)
    ? { away: explainStatus(url, status, body) }
    : "served";
}
