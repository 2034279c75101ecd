import { Connection } from "../../client/connection.ts";
import type {
  ConnectionOptions,
  ConnectionState,
} from "../../client/options.ts";
import {
  type ServerEvent,
  TOOL_CALL_PROGRESS_EVENT,
  type ToolCallProgress,
  UPDATE_RESOURCES_EVENT,
} from "../../protocol/mod.ts";
import type { ClientProtocol } from "../../client/versions.ts";
import { logThrown, warnOfClearText } from "../util/log.ts";
import type { ChangedResource } from "../resources/watched_uris.ts";
import { Announcer } from "./announcer.ts";
import { forwardConnectionEvents, useNames } from "./forward_events.ts";
import type { OfficeOutlet, ToolHostParts } from "./tool_host_parts.ts";

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
    useNames(host.hosting.host, connection.protocol);
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
