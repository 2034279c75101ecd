import type { Resource, ServerEvent } from "../../protocol/mod.ts";
import { changeEvents, NO_URIS } from "./change_events.ts";
import {
  type HostClaims,
  hostClashes,
  type HostRoute,
  routeHost,
} from "./host_index.ts";
import type { McpHost } from "../host/host.ts";
import { log } from "../util/log.ts";
import type { ServerState } from "../host/server_status.ts";
import { WarnOnce } from "../util/warn_once.ts";
import { takesPart } from "./servers.ts";
import { WatchedServer } from "./watched_server.ts";

/** States of a server that runs or will run soon. */
const LIVE_STATES: ReadonlySet<ServerState> = new Set([
  "starting",
  "running",
  "restarting",
]);

/**
 * Watches the resources of all MCP servers: subscribes to windows and documents, announces
 * changes, and finds the server of a host (spec §8.3, §8.5).
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
      const events = changeEvents(NO_URIS, { kind: "updated", uri });
      if (events.length > 0) changed(...events);
    });
  }

  /** Describes each host that more than one MCP server uses, in one sentence. */
  get clashes(): string[] {
    return hostClashes(this.#claims());
  }

  /** Finds the MCP server of a document's host; lists all again if none is known (spec §8.3). */
  async route(host: string): Promise<string | undefined> {
    const route = this.#find(host) ?? await this.#listAndFind(host);
    if (route && route.passedOver.length > 0) {
      log.warn(
        "Documents of host {host} are read from {server}; also used by {others}",
        { host, server: route.server, others: route.passedOver.join(", ") },
      );
    }
    return route?.server;
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
    const watched = this.#watched(name);
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

  #watched(name: string): WatchedServer {
    const known = this.#servers.get(name);
    if (known) return known;
    const watched = new WatchedServer(name, this.#changed);
    this.#servers.set(name, watched);
    return watched;
  }

  /** In the order of the configuration, which is the order of registration. */
  #claims(): HostClaims[] {
    return this.#host.views.flatMap(({ bundleId }) =>
      this.#servers.get(bundleId)?.claims ?? []
    );
  }

  #find(host: string): HostRoute | undefined {
    return routeHost(this.#claims(), host);
  }

  /** Lists all servers again; resolves as soon as one of them lists the host. */
  #listAndFind(host: string): Promise<HostRoute | undefined> {
    return new Promise((resolve) => {
      const refreshes = [...this.#servers.keys()].map(async (name) => {
        await this.#refresh(name);
        const route = this.#find(host);
        if (route) resolve(route);
      });
      Promise.all(refreshes).then(() => resolve(undefined));
    });
  }

  #warnOfClashes(): void {
    this.#warnOnce.warn(this.clashes);
  }
}
