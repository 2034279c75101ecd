import type { Emitter } from "../../client/emitter.ts";
import type { BlobExchange } from "../blobs/blobs.ts";
import type { Hosting } from "../host/hosting.ts";
import { answerRequest } from "./handlers.ts";
import type { DpeResolver } from "../resources/dpe.ts";
import type { ResourceWatch } from "../resources/resource_watch.ts";
import { RecentServers } from "../resources/servers.ts";
import type {
  ChangedResource,
  WatchedUris,
} from "../resources/watched_uris.ts";
import type { Skills } from "../skills/skills.ts";
import { CallTable } from "../tools/call_table.ts";
import { type Confirm, Confirmations } from "../tools/confirmations.ts";
import { Dialogues } from "../tools/dialogues.ts";
import { type Elicit, Elicitations } from "../tools/elicitations.ts";
import type { ComputerEvents, ToolCallArrived } from "../tools/events.ts";
import { ProgressThrottles } from "../tools/progress.ts";
import { logThrown, WarnOnce } from "../util/log.ts";
import { hideSecrets } from "../util/secrets.ts";
import {
  type AgentCallData,
  type CallToolResult,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  type ServerEvent,
  type ToolCallCancel,
  type ToolCallProgress,
  type ToolProgress,
} from "../../protocol/mod.ts";
import { Deadlines } from "../../shared/deadlines.ts";

/** The parts that a {@linkcode ComputerRequestHandler} works with. */
export interface ComputerRequestHandlerOptions {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** Their windows and documents. */
  readonly watch: ResourceWatch;
  /** Other resources that the Agent watches. */
  readonly watched: WatchedUris;
  /** The skills. */
  readonly skills: Skills;
  /** Asks the user for confirmation of tool calls. */
  readonly confirm: Confirm | undefined;
  /** Answers questions of MCP servers. */
  readonly elicit: Elicit | undefined;
  /** The content that Agents fetch and send in parts. */
  readonly blobs: BlobExchange;
  /** Receives the start and the end of each tool call. */
  readonly events: Emitter<ComputerEvents>;
  /** The Server's limit for messages in bytes, if known. */
  maxPayload(): number | undefined;
  /** The name of the Computer, for people. */
  place(): string;
  /** Tells an Agent of the office how far its call is. */
  progressed(progress: Omit<ToolCallProgress, "computer">): void;
}

/** How this process follows a request of its own. */
export interface LocalFollowing {
  /** Cancels a tool call, which is then answered as cancelled. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the progress of a tool call that asks for it. */
  readonly onProgress?: ((progress: ToolProgress) => unknown) | undefined;
}

/** A request without the fields that name caller and target. */
type Unsigned<E extends ClientEvent> = Omit<
  ClientEvents[E]["request"],
  keyof AgentCallData | "computer"
>;

/** Answers requests, and holds the state that belongs to one office. */
export class ComputerRequestHandler {
  /** Publishes documents, if the user registered one. */
  resolver: DpeResolver | undefined;
  readonly #options: ComputerRequestHandlerOptions;
  readonly #calls = new CallTable();
  readonly #deadlines = new Deadlines();
  readonly #throttles = new ProgressThrottles();
  readonly #recent = new RecentServers();
  readonly #warnOnce = new WarnOnce();
  readonly #confirmations: Confirmations;
  readonly #elicitations: Elicitations;
  readonly #dialogues = new Dialogues();
  #office: string | undefined;

  constructor(options: ComputerRequestHandlerOptions) {
    this.#options = options;
    this.#confirmations = new Confirmations(options.confirm);
    this.#elicitations = new Elicitations(options.elicit);
  }

  /** Number of running tool calls. */
  get running(): number {
    return this.#calls.running;
  }

  /** Sets the office; calls and history of another one are dropped, a rejoin keeps them (spec §7.4). */
  moveTo(office: string | undefined): void {
    if (office !== this.#office) {
      this.#calls.clear();
      this.#dialogues.end();
      this.#recent.clear();
      this.#options.watched.clear();
      void this.#options.blobs.clear();
    }
    this.#office = office;
  }

  /** Drops the calls of the office; the timer of others ends with the last of them. */
  close(): void {
    this.moveTo(undefined);
    this.#deadlines.release();
  }

  /** Cancels a tool call; unknown and ended calls are ignored (spec §7.6). */
  cancel(call: ToolCallCancel): void {
    this.#calls.cancel(call);
    this.#dialogues.cancel(call);
  }

  /** Forgets what the Agent watches: it sees this Computer leave, and asks again when it comes back. */
  disconnected(): void {
    this.#options.watched.clear();
  }

  /** Ends calls that wait for an answer of an Agent that has left. */
  agentLeft(agent: string): void {
    this.#dialogues.end(agent);
    // An office has one Agent.
    void this.#options.blobs.uploads.drop();
    this.#options.watched.clear();
  }

  /**
   * Answers a request of an Agent.
   *
   * @param tellLocally receives the progress of a tool call that asks for it, in a request of this
   * process: its answer is no message, so that nothing is too large for one
   * @throws {ProtocolError} sent to the Agent as the answer
   */
  async answer(
    event: string,
    payload: unknown,
    tellLocally?: ComputerRequestHandlerOptions["progressed"],
  ): Promise<unknown> {
    const { hosting, watch, watched, skills, blobs, progressed } =
      this.#options;
    const isLocal = tellLocally !== undefined;
    const tell = tellLocally ?? progressed;
    return await answerRequest(event, payload, {
      host: hosting.host,
      inputs: hosting.inputs.definitions,
      confirmations: this.#confirmations,
      elicitations: this.#elicitations,
      dialogues: this.#dialogues,
      calls: this.#calls,
      deadlines: this.#deadlines,
      watch,
      watched,
      skills,
      recent: this.#recent,
      warnOnce: this.#warnOnce,
      resolver: this.resolver,
      maxPayload: isLocal ? undefined : this.#options.maxPayload(),
      store: isLocal ? undefined : blobs.store,
      blobs: blobs.kinds,
      uploads: blobs.uploads,
      onCall: (call) => this.#observe(call),
      throttles: this.#throttles,
      onProgress: (call, progress) => {
        this.#options.events.emit("callProgress", { ...call, progress });
        tell({ agent: call.agent, req_id: call.reqId, ...progress });
      },
      onWaiting: (call, progress) => {
        const { waiting } = progress;
        this.#options.events.emit("callWaiting", { ...call, waiting });
        tell({ agent: call.agent, req_id: call.reqId, ...progress });
      },
      place: this.#options.place(),
    }).catch((error: unknown) => {
      if (error instanceof Error) error.message = hideSecrets(error.message);
      throw error;
    });
  }

  /**
   * Answers a request of this process in the same way.
   *
   * @param caller used in place of an Agent's name
   */
  async answerLocal<E extends ClientEvent>(
    caller: string,
    event: E,
    request: Unsigned<E>,
    { signal, onProgress }: LocalFollowing = {},
  ): Promise<ClientEvents[E]["answer"]> {
    const call: AgentCallData = { agent: caller, req_id: crypto.randomUUID() };
    const cancel = () => this.cancel(call);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const answer = this.answer(event, {
        ...request,
        ...call,
        computer: caller,
      }, ({ agent: _, req_id: __, ...progress }) => {
        new Promise((resolve) => resolve(onProgress?.(progress)))
          .catch(logThrown);
      });
      if (signal?.aborted) cancel();
      return CLIENT_EVENTS[event].parseAnswer(await answer);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  #observe(
    { params, ...call }: ToolCallArrived,
  ): (result?: CallToolResult) => void {
    const { events } = this.#options;
    const start = performance.now();
    events.emit("callStarted", { ...call, params });
    return (result) =>
      events.emit("callEnded", {
        ...call,
        durationMs: performance.now() - start,
        ...(result && { result }),
      });
  }
}

/** The office that the tools of a host are offered to. */
export interface OfficeOutlet {
  /** The name of the Computer. */
  readonly name: string;
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
  /** Announces changes to the office. */
  changed(...events: ServerEvent[]): void;
  /** Tells of a resource that the Agent watches. */
  updated(changed: ChangedResource): void;
  /** Tells an Agent how far its call is. */
  progressed(progress: Omit<ToolCallProgress, "computer">): void;
}

/** The parts of a tool host, for connections and commands. */
export interface ToolHostParts {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** The skills. */
  readonly skills: Skills;
  /** Answers requests. */
  readonly requests: ComputerRequestHandler;
  /** Emits the events of the host. */
  readonly events: Emitter<ComputerEvents>;
  /** Offers the tools to an office. */
  attach(office: OfficeOutlet): void;
}
