import { Connection } from "../../client/connection.ts";
import type { Emitter } from "../../client/emitter.ts";
import type {
  ConnectionOptions,
  ConnectionState,
} from "../../client/options.ts";
import type { ClientProtocol } from "../../client/versions.ts";
import type { McpHost } from "../host/host.ts";
import type {
  ComputerRequestHandler,
  OfficeOutlet,
  ToolHostParts,
} from "./request_handler.ts";
import type { ChangedResource } from "../resources/watched_uris.ts";
import type { ComputerEvents } from "../tools/events.ts";
import { logThrown, warnOfClearText } from "../util/log.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ErrorCode,
  isClientEvent,
  LEAVE_OFFICE_NOTIFICATION,
  operatorOf,
  PROFILES,
  ProtocolError,
  type ServerEvent,
  TOOL_CALL_PROGRESS_EVENT,
  type ToolCallProgress,
  UPDATE_CONFIG_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
  UPDATE_RESOURCES_EVENT,
  UPDATE_SKILLS_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";

/** Options of the connection of a Computer. */
export type LinkOptions = ConnectionOptions & {
  readonly role: "computer";
  /** Whether to answer no operators. */
  readonly refuseOperators?: boolean;
};

/**
 * Creates the connection of an {@linkcode OfficeLink}.
 *
 * @throws {TypeError} when the URL or `tls` is invalid
 */
export const createConnection = (options: LinkOptions): Connection =>
  new Connection(options, logThrown);

/** Connects a tool host to a Server, and offers its tools to an office there. */
export class OfficeLink implements OfficeOutlet {
  #options: LinkOptions;
  #connection: Connection;
  readonly #host: ToolHostParts;
  readonly #announcer: Announcer;

  /** Creates a link that is not connected. */
  constructor(
    options: LinkOptions,
    connection: Connection,
    host: ToolHostParts,
  ) {
    this.#options = options;
    this.#connection = connection;
    this.#host = host;
    this.#announcer = new Announcer((event) => {
      if (!this.#connection.joined) return;
      this.#connection.send(event, { computer: this.name });
    });
    this.#forwardEvents();
    host.hosting.host.useBundleIds(PROFILES[connection.protocol].bundleIds);
    host.attach(this);
  }

  /** The Computer's name in the office. */
  get name(): string {
    return this.#options.name;
  }

  /** URL of the Server, or that it is in this process. */
  get url(): string {
    const { url, connection } = this.#options;
    return url ?? connection?.url ?? "in process";
  }

  /** The state of the connection. */
  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** The protocol version of the connection, or of the next attempt. */
  get protocol(): ClientProtocol {
    return this.#connection.protocol;
  }

  /** The office that it is in, or rejoins after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  get maxPayload(): number | undefined {
    return this.#connection.maxPayload;
  }

  changed(...events: ServerEvent[]): void {
    this.#announcer.changed(...events);
  }

  updated(changed: ChangedResource): void {
    this.#tell(UPDATE_RESOURCES_EVENT, changed);
  }

  progressed(progress: Omit<ToolCallProgress, "computer">): void {
    this.#tell(TOOL_CALL_PROGRESS_EVENT, progress);
  }

  /** Announces configuration, tools, desktop and documents as changed. */
  announceAll(): void {
    this.#announcer.all();
  }

  /** Connects to the Server. */
  connect(): Promise<void> {
    warnOfClearText(this.#options);
    return this.#connection.connect();
  }

  /** Joins an office; leaves the previous one. */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /** Leaves the office, and aborts its running calls. */
  async leave(): Promise<void> {
    const { requests } = this.#host;
    requests.moveTo(undefined);
    await this.#connection.leave()
      .finally(() => requests.moveTo(this.#connection.office));
  }

  /**
   * Leaves and disconnects; the next `connect` and `join` use another Server, or another name.
   *
   * @param target the new values
   * @throws {TypeError} when the URL is invalid; nothing has changed then
   */
  async switchServer(target: { url?: string; name?: string }): Promise<void> {
    const { connection, ...others } = this.#options;
    const kept = target.url === undefined && connection ? { connection } : {};
    const options = { ...others, ...kept, ...target };
    const before = this.#connection;
    this.#connection = createConnection(options);
    this.#options = options;
    this.#host.requests.moveTo(undefined);
    this.#forwardEvents();
    // Leaves explicitly, so that the Server frees the name before it is used again.
    await before.leave().catch(() => {});
    await before.close();
  }

  /** Leaves and disconnects permanently; resolves when the name is free. */
  async close(): Promise<void> {
    this.#announcer.close();
    await this.#connection.close();
    this.#announcer.close(); // drops changes announced meanwhile
  }

  #tell(event: ServerEvent, about: object): void {
    if (!this.#connection.joined) return;
    try {
      this.#connection.send(event, { computer: this.name, ...about });
    } catch {
      // Too large for this Server; nobody waits for it.
    }
  }

  #forwardEvents(): void {
    const { events, requests, hosting } = this.#host;
    forwardConnectionEvents(this.#connection, {
      events,
      announcer: this.#announcer,
      requests,
      host: hosting.host,
      refuseOperators: this.#options.refuseOperators === true,
    });
  }
}

/** Where the events of a connection are forwarded to. */
export interface ForwardTargets {
  /** The Computer's listeners. */
  readonly events: Emitter<ComputerEvents>;
  /** Announces changes to the office. */
  readonly announcer: Announcer;
  /** Answers requests of the office. */
  readonly requests: ComputerRequestHandler;
  /** The MCP servers, which the office names as its version does. */
  readonly host: Pick<McpHost, "useBundleIds">;
  /** Whether operators of the Server get no answers. */
  readonly refuseOperators: boolean;
}

/** Forwards events and requests of the Server. */
export function forwardConnectionEvents(
  connection: Connection,
  { events, announcer, requests, host, refuseOperators }: ForwardTargets,
): void {
  connection.on("connected", (connected) => {
    host.useBundleIds(PROFILES[connection.protocol].bundleIds);
    events.emit("connected", connected);
  });
  connection.on("disconnected", (lost) => {
    requests.disconnected();
    events.emit("disconnected", lost);
  });
  connection.on("rejoinFailed", forward("rejoinFailed", events));
  connection.on("refused", forward("refused", events));
  connection.on("joined", (joined) => {
    requests.moveTo(joined.office);
    // Announcements made while disconnected were lost.
    if (joined.rejoined) announcer.all();
    else announcer.joined();
    events.emit("joined", joined);
  });
  connection.on("notification", ({ event, payload }) => {
    if (event === CANCEL_TOOL_CALL_NOTIFICATION) requests.cancel(payload);
    if (event === LEAVE_OFFICE_NOTIFICATION && payload.agent !== undefined) {
      requests.agentLeft(payload.agent);
    }
  });
  connection.onRequest((event, payload) => {
    // The request arrived after leaving; the Server has already answered its Agent with an error.
    if (isClientEvent(event) && !connection.joined) {
      throw new ProtocolError(
        ErrorCode.NOT_IN_ROOM,
        "This Computer is in no office",
      );
    }
    if (refuseOperators && operatorOf(Object(payload)) !== undefined) {
      throw new ProtocolError(
        ErrorCode.FORBIDDEN,
        "The owner of this Computer refuses operators (--refuse-operators)",
      );
    }
    return requests.answer(event, payload);
  });
}

const forward =
  <E extends keyof ComputerEvents>(event: E, events: Emitter<ComputerEvents>) =>
  (value: ComputerEvents[E]): void => events.emit(event, value);

/** Changes within this time are announced once. */
const COALESCE_MS = 50;

/** Announces changes to the office, each burst once; the last state always arrives (spec §8.5). */
export class Announcer {
  readonly #send: (event: ServerEvent) => void;
  readonly #changed = new Set<ServerEvent>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param send emits an event to the office; events lost while offline are announced after a join */
  constructor(send: (event: ServerEvent) => void) {
    this.#send = send;
  }

  /** Announces events, shortly. */
  changed(...events: ServerEvent[]): void {
    for (const event of events) this.#changed.add(event);
    this.#timer ??= setTimeout(() => this.#flush(), COALESCE_MS);
  }

  /** Announces everything, after a rejoin: any of it may have changed. */
  all(): void {
    this.joined();
    this.changed(
      UPDATE_DESKTOP_EVENT,
      UPDATE_FINDER_EVENT,
      UPDATE_SKILLS_EVENT,
    );
  }

  /** Announces configuration and tools to a new office; its Agent fetches windows and documents on demand. */
  joined(): void {
    this.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
  }

  /** Drops pending announcements. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    const events = [...this.#changed];
    this.#changed.clear();
    for (const event of events) this.#send(event);
  }
}
