import { Connection } from "../../client/connection.ts";
import type {
  ConnectionOptions,
  ConnectionState,
} from "../../client/options.ts";
import type { ServerEvent } from "../../protocol/mod.ts";
import { logThrown, warnOfClearText } from "../util/log.ts";
import { Announcer } from "./announcer.ts";
import { forwardConnectionEvents } from "./forward_events.ts";
import type { OfficeOutlet, ToolHostParts } from "./tool_host_parts.ts";

/** Options of the connection of a Computer. */
export type LinkOptions = ConnectionOptions & { readonly role: "computer" };

/**
 * Creates the connection of an {@linkcode OfficeLink}.
 *
 * @throws {TypeError} when the URL cannot be one of a Server, or `tls` cannot be used
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
    host.attach(this);
  }

  /** The Computer's name in the office. */
  get name(): string {
    return this.#options.name;
  }

  /** Address of the Server. */
  get url(): string {
    return this.#options.url;
  }

  /** Where the connection stands. */
  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** The office that it is in, or comes back to after a reconnect. */
  get office(): string | undefined {
    return this.#connection.office;
  }

  get maxPayload(): number | undefined {
    return this.#connection.maxPayload;
  }

  changed(...events: ServerEvent[]): void {
    this.#announcer.changed(...events);
  }

  /** Tells the office that everything may have changed: configuration, tools, desktop, documents. */
  announceAll(): void {
    this.#announcer.all();
  }

  /** Connects to the Server. */
  connect(): Promise<void> {
    warnOfClearText(this.#options);
    return this.#connection.connect();
  }

  /** Joins an office, out of the one that it was in. */
  join(office: string): Promise<void> {
    return this.#connection.join(office);
  }

  /** Leaves the office, and gives up the calls that run there. */
  async leave(): Promise<void> {
    const { requests } = this.#host;
    requests.moveTo(undefined);
    await this.#connection.leave()
      .finally(() => requests.moveTo(this.#connection.office));
  }

  /**
   * Leaves and disconnects; the next `connect` and `join` go to another Server, or use another name.
   *
   * @param target what changes
   * @throws {TypeError} when the URL cannot be one of a Server; nothing changed then
   */
  async switchServer(target: { url?: string; name?: string }): Promise<void> {
    const options = { ...this.#options, ...target };
    const before = this.#connection;
    this.#connection = createConnection(options);
    this.#options = options;
    this.#host.requests.moveTo(undefined);
    this.#forwardEvents();
    // Said rather than hung up on, so that the Server has a name free that is taken again at once.
    await before.leave().catch(() => {});
    await before.close();
  }

  /** Leaves and disconnects for good; resolves when the name is free. */
  async close(): Promise<void> {
    this.#announcer.close();
    await this.#connection.close();
    this.#announcer.close(); // what changed meanwhile
  }

  #forwardEvents(): void {
    const { events, requests } = this.#host;
    forwardConnectionEvents(this.#connection, {
      events,
      announcer: this.#announcer,
      answers: requests,
    });
  }
}
