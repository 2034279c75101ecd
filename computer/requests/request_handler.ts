import type { Emitter } from "../../client/emitter.ts";
import {
  type AgentCallData,
  type CallToolResult,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
} from "../../protocol/mod.ts";
import { CallTable } from "../tools/call_table.ts";
import type { Confirm } from "../tools/confirm.ts";
import { Confirmations } from "../tools/confirmations.ts";
import type { DpeResolver } from "../resources/dpe/resolver.ts";
import { answerRequest } from "./handlers/mod.ts";
import { hideSecrets } from "../util/hide_secrets.ts";
import type { Hosting } from "../host/hosting.ts";
import type { ComputerEvents } from "./computer_events.ts";
import type { ToolCallStarted } from "../tools/call_events.ts";
import { RecentServers } from "../resources/recent_servers.ts";
import type { ResourceWatch } from "../resources/resource_watch.ts";
import { WarnOnce } from "../util/warn_once.ts";

/** What a {@linkcode ComputerRequestHandler} works with. */
export interface ComputerRequestHandlerOptions {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** Their windows and documents. */
  readonly watch: ResourceWatch;
  /** Asks a person about tool calls. */
  readonly confirm: Confirm | undefined;
  /** Is told of each tool call, and of its end. */
  readonly events: Emitter<ComputerEvents>;
  /** The largest message that the Server takes, in bytes, if it is known. */
  maxPayload(): number | undefined;
}

/** What a request of this process leaves out: who asks, and whom. */
type Unsigned<E extends ClientEvent> = Omit<
  ClientEvents[E]["request"],
  keyof AgentCallData | "computer"
>;

/** Answers requests, and keeps what belongs to those of one office. */
export class ComputerRequestHandler {
  /** Publishes documents, if the user registered one. */
  resolver: DpeResolver | undefined;
  readonly #options: ComputerRequestHandlerOptions;
  readonly #calls = new CallTable();
  readonly #recent = new RecentServers();
  readonly #warnOnce = new WarnOnce();
  readonly #confirmations: Confirmations;
  #office: string | undefined;

  constructor(options: ComputerRequestHandlerOptions) {
    this.#options = options;
    this.#confirmations = new Confirmations(options.confirm);
  }

  /** How many tool calls are running. */
  get running(): number {
    return this.#calls.running;
  }

  /** Calls belong to an office; a rejoin of the same one keeps them (spec §7.4). */
  moveTo(office: string | undefined): void {
    if (office !== this.#office) {
      this.#calls.clear();
      this.#recent.clear();
    }
    this.#office = office;
  }

  /** Cancels a tool call; unknown and finished ones are ignored (spec §7.6). */
  cancel(call: AgentCallData): void {
    this.#calls.cancel(call);
  }

  /**
   * Answers a request of an Agent.
   *
   * @throws {ProtocolError} what the Agent is answered instead
   */
  async answer(event: string, payload: unknown): Promise<unknown> {
    const { hosting, watch, maxPayload } = this.#options;
    return await answerRequest(event, payload, {
      host: hosting.host,
      inputs: hosting.inputs.definitions,
      confirmations: this.#confirmations,
      calls: this.#calls,
      watch,
      recent: this.#recent,
      warnOnce: this.#warnOnce,
      resolver: this.resolver,
      maxPayload: maxPayload(),
      onCall: (call) => this.#observe(call),
    }).catch((error: unknown) => {
      if (error instanceof Error) error.message = hideSecrets(error.message);
      throw error;
    });
  }

  /**
   * Answers a request of this process in the same way.
   *
   * @param caller stands in the Agent's place
   * @param signal cancels a tool call, which is answered as cancelled then
   */
  async answerLocal<E extends ClientEvent>(
    caller: string,
    event: E,
    request: Unsigned<E>,
    signal?: AbortSignal,
  ): Promise<ClientEvents[E]["answer"]> {
    const call: AgentCallData = { agent: caller, req_id: crypto.randomUUID() };
    const cancel = () => this.cancel(call);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const answer = this.answer(event, {
        ...request,
        ...call,
        computer: caller,
      });
      if (signal?.aborted) cancel();
      return CLIENT_EVENTS[event].parseAnswer(await answer);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  #observe(call: ToolCallStarted): (result?: CallToolResult) => void {
    const { events } = this.#options;
    const start = performance.now();
    events.emit("call_started", call);
    return (result) =>
      events.emit("call_ended", {
        ...call,
        milliseconds: performance.now() - start,
        ...(result && { result }),
      });
  }
}
