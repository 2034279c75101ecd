import { Emitter } from "../client/emitter.ts";
import {
  type AgentCallData,
  type ClientEvent,
  type ClientEvents,
  type ServerEvent,
  UPDATE_CONFIG_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../protocol/mod.ts";
import { parseComputerConfig } from "./config/parse_config.ts";
import { Hosting } from "./host/hosting.ts";
import type { ToolHostOptions, ToolHostStatus } from "./options.ts";
import { ComputerRequestHandler } from "./requests/request_handler.ts";
import type { ComputerEvents } from "./requests/computer_events.ts";
import { forwardHostEvents } from "./requests/forward_events.ts";
import { ResourceWatch } from "./resources/resource_watch.ts";
import { hideSecrets } from "./util/hide_secrets.ts";
import { logThrown } from "./util/log.ts";

/** The office that a {@linkcode ToolHost} is in, if there is one. */
export interface OfficeLink {
  /** Tells the office what changed. */
  changed(...events: ServerEvent[]): void;
  /** The largest message that its Server takes, in bytes, if it is known. */
  maxPayload(): number | undefined;
}

const NO_OFFICE: OfficeLink = { changed() {}, maxPayload: () => undefined };

/** Hosts MCP servers and answers requests for their tools, windows and documents; needs no Server. */
export class ToolHost {
  /** The MCP servers and the inputs. */
  readonly hosting: Hosting;
  /** Answers requests. */
  readonly answers: ComputerRequestHandler;
  /** Tells what happens. */
  readonly events: Emitter<ComputerEvents> = new Emitter(logThrown);
  readonly #watch: ResourceWatch;

  /**
   * Creates a host that has started nothing.
   *
   * @throws {ConfigError} that lists every mistake in `servers` and `inputs`
   * @throws {TypeError} when `maxMessageBytes` is no limit
   */
  constructor(options: ToolHostOptions, office: OfficeLink = NO_OFFICE) {
    const { servers, inputs = [], confirm } = options;
    const config = parseComputerConfig({ inputs, servers }, "options");
    const { events } = this;
    const configChanged = () => {
      office.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
      events.emit("config_changed", undefined);
    };
    this.hosting = new Hosting(config, options, configChanged);
    const { host } = this.hosting;
    const changed = (...changes: ServerEvent[]) => office.changed(...changes);
    this.#watch = new ResourceWatch(host, changed);
    this.answers = new ComputerRequestHandler({
      hosting: this.hosting,
      watch: this.#watch,
      confirm,
      events,
      maxPayload: () => office.maxPayload(),
    });
    forwardHostEvents(host, events, changed, configChanged);
  }

  /** Tells how the MCP servers are doing. */
  status(): ToolHostStatus {
    const { host } = this.hosting;
    return {
      servers: host.statuses,
      tools: host.offers(),
      problems: [...host.problems, ...this.#watch.clashes].map(hideSecrets),
      runningCalls: this.answers.running,
    };
  }

  /**
   * Answers a request of a person at this machine; a tool call needs confirmation as any other.
   *
   * @param name stands for the person, as caller and target
   * @param signal cancels a tool call
   * @throws {ProtocolError} what an Agent would be answered
   */
  answer<E extends ClientEvent>(
    name: string,
    event: E,
    request: Omit<ClientEvents[E]["request"], keyof AgentCallData | "computer">,
    signal?: AbortSignal,
  ): Promise<ClientEvents[E]["answer"]> {
    return this.answers.answerPerson(name, event, request, signal);
  }

  /** Forgets the windows and documents, and what belongs to an office: nothing is announced any more. */
  leaveForGood(): void {
    this.#watch.close();
    this.answers.moveTo(undefined);
  }

  /** Stops every MCP server for good; nothing that they started is left. */
  async close(): Promise<void> {
    this.leaveForGood();
    await this.hosting.close();
  }
}
