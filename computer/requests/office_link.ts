/**
 * The link between a tool host and the office of a Server: it passes on the requests of the office,
 * announces changes to it, and drops what belongs to an office when the Computer leaves it.
 *
 * @module
 */
import { Connection } from "../../client/connection.ts";
import type { ConnectionOptions } from "../../client/options.ts";
import { warningsOf } from "../../client/check_options.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  DEVICE_EVENT,
  ErrorCode,
  isClientEvent,
  LEAVE_OFFICE_NOTIFICATION,
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
import { operatorOf } from "../../protocol/payloads/tools.ts";
import type { ChangedResource } from "../resources/watched_uris.ts";
import type { RequestOrigin } from "../tools/tool_calls.ts";
import { log, logThrown } from "../util/log.ts";
import { DeviceLink } from "./device_link.ts";
import type { HostOffice, ToolHostParts } from "./parts.ts";
import { answerRequest } from "./requests.ts";

/** Options of the connection of a Computer. */
type LinkOptions = ConnectionOptions & {
  readonly role: "computer";
  /** Whether to answer no operators. */
  readonly refuseOperators?: boolean;
};

/** Changes within this time are announced once. */
const COALESCE_MS = 50;

/** Connects a tool host to a Server, and offers its tools to an office there. */
export class OfficeLink implements RequestOrigin, HostOffice {
  #options: LinkOptions;
  /** The connection, until it is switched to another Server. */
  connection: Connection;
  readonly #host: ToolHostParts;
  /** The devices that answer for the person. */
  readonly devices = new DeviceLink(this);
  /** The office that calls and history belong to. */
  #office: string | undefined;
  /** The changes to announce next. */
  readonly #changed = new Set<ServerEvent>();
  /** Those of `server:update_resources`. */
  readonly #lists = new Set<"resources" | "prompts">();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Creates a link that is not connected. */
  constructor(
    options: LinkOptions,
    connection: Connection,
    host: ToolHostParts,
  ) {
    this.#options = options;
    this.connection = connection;
    this.#host = host;
    this.#listen(connection);
    this.#useNames();
    host.office = this;
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

  /** The Server's limit for messages, in bytes; absent if it is unknown. */
  get maxPayload(): number | undefined {
    return this.connection.maxPayload;
  }

  /** Announces changes, each burst once; the last state always arrives (protocol §8.5). */
  changed(...events: ServerEvent[]): void {
    for (const event of events) this.#changed.add(event);
    this.#timer ??= setTimeout(() => {
      const events = [...this.#changed];
      const [list, ...others] = this.#lists;
      this.#announceNothing();
      if (!this.connection.joined) return; // announced after the next join
      for (const event of events) {
        const isOne = event === UPDATE_RESOURCES_EVENT && others.length === 0;
        this.connection.send(event, {
          computer: this.name,
          ...(isOne && list && { list }),
        });
      }
    }, COALESCE_MS);
  }

  /** Announces that a list of MCP servers changed. */
  listChanged(list: "resources" | "prompts"): void {
    this.#lists.add(list);
    this.changed(UPDATE_RESOURCES_EVENT);
  }

  /** Announces configuration, tools, desktop, documents and skills as changed. */
  announceAll(): void {
    this.changed(
      UPDATE_CONFIG_EVENT,
      UPDATE_TOOL_LIST_EVENT,
      UPDATE_DESKTOP_EVENT,
      UPDATE_FINDER_EVENT,
      UPDATE_SKILLS_EVENT,
    );
  }

  /** Notifies the office of the change of a resource that its Agent watches. */
  updated(changed: ChangedResource): void {
    this.#notify(UPDATE_RESOURCES_EVENT, changed);
  }

  /** Sends the caller the progress of its call. */
  progressed(progress: Omit<ToolCallProgress, "computer">): void {
    this.#notify(TOOL_CALL_PROGRESS_EVENT, progress);
  }

  /** Sets the office; calls and history of another one are dropped, a rejoin keeps them (protocol §7). */
  moveTo(office: string | undefined): void {
    if (office !== this.#office) {
      const { calls, watched, blobs, hosting } = this.#host;
      calls.clear();
      watched.clear();
      void blobs.clear();
      hosting.host.officeChanged(office !== undefined);
    }
    this.#office = office;
  }

  /** Connects to the Server. */
  connect(): Promise<void> {
    for (const warning of warningsOf(this.#options)) {
      log.warn("{warning}", { warning });
    }
    return this.connection.connect();
  }

  /** Leaves the office, and aborts its running calls. */
  async leave(): Promise<void> {
    this.moveTo(undefined);
    await this.connection.leave()
      .finally(() => this.moveTo(this.connection.office));
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
    const before = this.connection;
    this.connection = new Connection(options, logThrown);
    this.#options = options;
    this.moveTo(undefined);
    this.#listen(this.connection);
    // Leaves explicitly, so that the Server frees the name before it is used again.
    await before.leave().catch(() => {});
    await before.close();
  }

  /** Leaves and disconnects permanently; resolves when the name is free. */
  async close(): Promise<void> {
    this.#announceNothing();
    await this.connection.close();
    this.#announceNothing(); // drops changes announced meanwhile
  }

  /** Passes on events and requests of the Server. */
  #listen(connection: Connection): void {
    const { events, calls, watched, blobs } = this.#host;
    connection.joinFields = () => this.devices.joinFields();
    connection.on("connected", (connected) => {
      this.#useNames();
      events.emit("connected", connected);
    });
    connection.on("disconnected", (lost) => {
      watched.clear(); // an Agent sees this Computer leave, and asks again when it rejoins
      events.emit("disconnected", lost);
    });
    connection.on("rejoinFailed", (why) => events.emit("rejoinFailed", why));
    connection.on("refused", (why) => events.emit("refused", why));
    connection.on("joined", (joined) => {
      this.moveTo(joined.office);
      // Announcements made while disconnected were lost; a new Agent fetches windows and documents.
      if (joined.rejoined) this.announceAll();
      else this.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
      this.devices.joined();
      events.emit("joined", joined);
    });
    connection.on("notification", ({ event, payload }) => {
      if (event === CANCEL_TOOL_CALL_NOTIFICATION) calls.cancel(payload);
      if (event === LEAVE_OFFICE_NOTIFICATION && payload.agent !== undefined) {
        calls.dialogues.end({ agent: payload.agent });
        // An office has one Agent.
        void blobs.uploads.drop();
        watched.clear();
      }
    });
    connection.onRequest((event, payload) => {
      // The request arrived after leaving; the Server has already answered its Agent with an error.
      const isOfDevice = event === DEVICE_EVENT;
      const isOfOffice = isOfDevice || isClientEvent(event);
      if (this.#office === undefined && isOfOffice) {
        const text = "This Computer is in no office";
        throw new ProtocolError(ErrorCode.NOT_IN_ROOM, text);
      }
      if (isOfDevice) return this.devices.answer(payload);
      const { refuseOperators } = this.#options;
      if (refuseOperators && operatorOf(Object(payload)) !== undefined) {
        throw new ProtocolError(
          ErrorCode.FORBIDDEN,
          "The owner of this Computer refuses operators (--refuse-operators)",
        );
      }
      return answerRequest(this.#host, event, payload, this);
    });
  }

  /** Names servers and tools as the protocol of the connection does (protocol §13). */
  #useNames(): void {
    const { bundleIds } = PROFILES[this.connection.protocol];
    this.#host.hosting.host.useBundleIds(bundleIds);
  }

  #announceNothing(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed.clear();
    this.#lists.clear();
  }

  #notify(event: ServerEvent, about: object): void {
    if (!this.connection.joined) return;
    try {
      this.connection.send(event, { computer: this.name, ...about });
    } catch {
      // Too large for this Server; no request depends on it.
    }
  }
}
