/**
 * Watching the windows and documents of all MCP servers: their lists, subscriptions and hosts;
 * changes are announced to the office (protocol §8.5).
 *
 * @module
 */
import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/mcp_connection.ts";
import type { ServerState } from "../host/server_status.ts";
import {
  changeEvents,
  type HostClaims,
  hostClaims,
  hostClashes,
  type ListedUris,
  listedUris,
  NO_URIS,
  routeHost,
  withoutQuery,
} from "./listed.ts";
import { takesPart } from "./servers.ts";
import { log, WarnOnce } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import type { Resource, ServerEvent } from "../../protocol/mod.ts";
import { forEachConcurrent, withTimeout } from "../../shared/async.ts";

/** States of a server that runs or will run soon. */
const LIVE_STATES: ReadonlySet<ServerState> = new Set([
  "starting",
  "running",
  "restarting",
]);

/**
 * Watches the resources of all MCP servers: subscribes to windows and documents, announces
 * changes, and finds the server of a host (protocol §8.3, §8.5).
 *
 * No MCP session waits for this work: notifications only trigger it.
 */
export class ResourceWatch {
  readonly #host: McpHost;
  readonly #changed: (...events: ServerEvent[]) => void;
  /** By `bundle_id`. */
  readonly #servers = new Map<string, WatchedServer>();
  readonly #warnOnce = new WarnOnce();

  /** @param changed receives the events to announce to the office */
  constructor(host: McpHost, changed: (...events: ServerEvent[]) => void) {
    this.#host = host;
    this.#changed = changed;
    host.on(
      "serverState",
      ({ bundleId, state }) => this.#onState(bundleId, state),
    );
    host.on("configChanged", () => this.#forgetRemoved());
    host.on("resourcesChanged", ({ server }) => this.#refresh(server));
    host.on("resourceUpdated", ({ server, uri }) => {
      const connection = host.server(server)?.connection;
      if (!connection || !takesPart(connection)) return;
      const events = changeEvents(NO_URIS, listedUris([{ uri }]));
      if (events.length > 0) changed(...events);
    });
  }

  /** Describes each host that more than one MCP server uses, in one sentence. */
  get clashes(): string[] {
    return hostClashes(this.#claims());
  }

  /** Finds the MCP server of a document's host; lists all again if none is known (protocol §8.3). */
  async route(host: string): Promise<string | undefined> {
    const known = routeHost(this.#claims(), host);
    const [server, ...others] = known.length > 0
      ? known
      : await this.#listAndFind(host);
    if (server !== undefined && others.length > 0) {
      log.warn(
        "Documents of host {host} are read from {server}; also used by {others}",
        { host, server, others: others.join(", ") },
      );
    }
    return server;
  }

  /** Compares a freshly fetched list with the known one: not every server announces changes. */
  saw(server: string, resources: readonly Resource[]): void {
    if (!this.#servers.get(server)?.saw(resources)) this.#refresh(server);
  }

  /** Returns the URI under which an MCP server lists a document. */
  originalOf(server: string, uri: string): string {
    return this.#servers.get(server)?.originalOf(uri) ?? uri;
  }

  /** Stops watching. */
  close(): void {
    for (const watched of this.#servers.values()) watched.ended(false);
    this.#servers.clear();
  }

  #onState(name: string, state: ServerState): void {
    const connection = this.#host.server(name)?.connection;
    const watched = this.#servers.get(name) ??
      new WatchedServer(name, this.#changed);
    this.#servers.set(name, watched);
    if (!connection) watched.ended(LIVE_STATES.has(state));
    else watched.started(connection).then(() => this.#warnOfClashes());
  }

  #forgetRemoved(): void {
    for (const [name, watched] of this.#servers) {
      if (this.#host.server(name)) continue;
      this.#servers.delete(name);
      watched.ended(false);
    }
  }

  async #refresh(name: string): Promise<void> {
    await this.#servers.get(name)?.refresh();
    this.#warnOfClashes();
  }

  /** In the order of the configuration, which is the order of registration. */
  #claims(): HostClaims[] {
    return [...this.#host.names.keys()].flatMap((bundleId) =>
      this.#servers.get(bundleId)?.claims ?? []
    );
  }

  /** Lists all servers again; resolves as soon as one of them lists the host. */
  #listAndFind(host: string): Promise<string[]> {
    return new Promise((resolve) => {
      const refreshes = [...this.#servers.keys()].map(async (name) => {
        await this.#refresh(name);
        const route = routeHost(this.#claims(), host);
        if (route.length > 0) resolve(route);
      });
      Promise.all(refreshes).then(() => resolve([]));
    });
  }

  #warnOfClashes(): void {
    this.#warnOnce.warn(this.clashes);
  }
}

const MAX_CONCURRENT_SUBSCRIPTIONS = 16;
/** Limit for all subscriptions of a server; after it, work goes on with those that succeeded. */
const SUBSCRIBE_TIMEOUT_MS = 5_000;

/** Tracks the resources of one MCP server while it runs. */
class WatchedServer {
  readonly #name: string;
  readonly #changed: (...events: ServerEvent[]) => void;
  #connection: McpConnection | undefined;
  #uris: ListedUris = NO_URIS;
  #subscribed = new Set<string>();
  /** The hosts of its resources; undefined before the first listing. */
  claims: HostClaims | undefined;
  /** Its documents, as it listed them last. */
  #documents: ReadonlySet<string> = NO_URIS.documents;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param changed receives the events to announce to the office (protocol §8.5) */
  constructor(name: string, changed: (...events: ServerEvent[]) => void) {
    this.#name = name;
    this.#changed = changed;
  }

  /**
   * Returns the URI under which the server lists a document, which is the only one it understands:
   * Agents see it without query and fragment (protocol §8.3). A URI without a query wins, else the first.
   */
  originalOf(uri: string): string {
    const identity = withoutQuery(uri);
    if (this.#documents.has(identity)) return identity;
    return [...this.#documents].find((one) => withoutQuery(one) === identity) ??
      uri;
  }

  /** Starts tracking a new connection; subscriptions of an earlier one are gone. */
  async started(connection: McpConnection): Promise<void> {
    if (this.#connection === connection) return;
    this.#connection = connection;
    this.#subscribed = new Set();
    await this.refresh();
  }

  /**
   * Marks the server as stopped: it has no windows and documents now.
   *
   * @param comesBack keeps its hosts, so that no other server takes them over meanwhile
   */
  ended(comesBack: boolean): void {
    this.#connection = undefined;
    if (!comesBack) this.claims = undefined;
    this.#list(NO_URIS);
  }

  /** Records a list of its resources; returns whether the URIs are unchanged. */
  saw(resources: readonly Resource[]): boolean {
    const uris = listedUris(resources);
    this.#documents = uris.documents;
    return changeEvents(this.#uris, uris).length === 0;
  }

  /**
   * Lists the resources, subscribes to new ones, and announces changes.
   *
   * Calls while it runs are coalesced into one more run. Never rejects.
   */
  refresh(): Promise<void> {
    const connection = this.#connection;
    if (this.#running) {
      return this.#next ??= this.#running.then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    }
    return this.#running = this.#refresh()
      .catch((error) => {
        if (this.#connection !== connection) return; // the server ended meanwhile
        log.warn("Cannot list the resources of {server}: {reason}", {
          server: this.#name,
          reason: reasonOf(error),
        });
      })
      .finally(() => this.#running = undefined);
  }

  async #refresh(): Promise<void> {
    const connection = this.#connection;
    if (!connection?.capabilities.resources) return;
    const uris = listedUris(await connection.listAllResources());
    if (this.#connection !== connection) return;
    this.claims = hostClaims(this.#name, uris);
    this.#documents = uris.documents;
    if (!takesPart(connection)) return;
    // Subscribes before announcing, so that no change after an Agent's read is missed.
    await this.#subscribe(connection, uris);
    if (this.#connection === connection) this.#list(uris);
  }

  #list(uris: ListedUris): void {
    const events = changeEvents(this.#uris, uris);
    this.#uris = uris;
    if (events.length > 0) this.#changed(...events);
  }

  async #subscribe(
    connection: McpConnection,
    { windows, documents }: ListedUris,
  ): Promise<void> {
    const wanted = windows.union(documents);
    const subscribed = this.#subscribed.intersection(wanted);
    this.#subscribed = subscribed;
    const missing = [...wanted.difference(subscribed)];
    let reason: string | undefined;
    await withTimeout(
      SUBSCRIBE_TIMEOUT_MS,
      (signal) =>
        forEachConcurrent(
          missing,
          MAX_CONCURRENT_SUBSCRIPTIONS,
          async (uri) => {
            try {
              await connection.subscribe(uri, { signal });
              subscribed.add(uri);
            } catch (error) {
              reason = reasonOf(error);
            }
          },
        ),
    ).catch((error) => reason = reasonOf(error));
    if (reason === undefined) return;
    log.warn("Cannot subscribe to {count} resources of {server}: {reason}", {
      count: wanted.size - subscribed.size,
      server: this.#name,
      reason,
    });
  }
}
