import {
  ErrorCode,
  ProtocolError,
  type UpdateResources,
} from "../../protocol/mod.ts";
import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/mcp_connection.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import { isDocument, isWindow } from "./listed.ts";

/** The most URIs of all MCP servers. */
const MAX_URIS = 1_000;
/** Changes of one resource within this time are reported once. */
const COALESCE_MS = 100;

/** A resource that changed. */
export type ChangedResource = Required<
  Pick<UpdateResources, "mcp_server" | "uri">
>;

/** The watched resources of one MCP server. */
interface Watched {
  /** Where they are subscribed to. */
  connection: McpConnection;
  /** Each with the timer of a change that is not announced yet. */
  readonly uris: Map<string, ReturnType<typeof setTimeout> | undefined>;
}

/** The resources that an Agent watches, besides windows and documents (protocol §8.5). */
export class WatchedUris {
  readonly #host: McpHost;
  readonly #notify: (changed: ChangedResource) => void;
  /** By MCP server, as the Agent names it. */
  readonly #servers = new Map<string, Watched>();

  /** @param notify notifies the office, at most ten times a second of each resource */
  constructor(host: McpHost, notify: (changed: ChangedResource) => void) {
    this.#host = host;
    this.#notify = notify;
    host.on("resourceUpdated", ({ server, uri }) => {
      for (const name of this.#namesOf(server)) this.#changed(name, uri);
    });
    host.on("serverState", ({ bundleId }) => {
      for (const name of this.#namesOf(bundleId)) {
        void this.#subscribeAgain(name);
      }
    });
  }

  /**
   * Watches a resource.
   *
   * @param subscribe subscribes to it at its MCP server
   * @throws {ProtocolError} 429 that are too many
   */
  async add(
    server: string,
    uri: string,
    connection: McpConnection,
    subscribe: () => Promise<void>,
  ): Promise<void> {
    const watched = this.#servers.get(server) ??
      { connection, uris: new Map() };
    if (watched.uris.has(uri)) return;
    const all = [...this.#servers.values()].flatMap(({ uris }) => [...uris]);
    if (all.length >= MAX_URIS) {
      throw new ProtocolError(
        ErrorCode.TOO_MANY_REQUESTS,
        `Too many resources are watched: at most ${MAX_URIS}`,
      );
    }
    watched.uris.set(uri, undefined); // first: a change may come with the answer
    watched.connection = connection;
    this.#servers.set(server, watched);
    try {
      await subscribe();
    } catch (error) {
      this.#forget(server, uri);
      throw error;
    }
  }

  /** Watches a resource no more. */
  remove(server: string, uri: string): void {
    if (!this.#forget(server, uri)) return;
    // Windows and documents stay subscribed to for all.
    if (isWindow(uri) || isDocument(uri)) return;
    this.#host.names.at(server)?.connection?.unsubscribe(uri).catch(() => {
      // It has ended, or has no such request: its report is dropped.
    });
  }

  /** Watches nothing any more: whoever asked for it has left. */
  clear(): void {
    for (const [server, { uris }] of [...this.#servers]) {
      for (const uri of [...uris.keys()]) this.remove(server, uri);
    }
  }

  /** The names by which an Agent has asked of an MCP server. */
  #namesOf(bundleId: string): string[] {
    const { names } = this.#host;
    return [...this.#servers.keys()]
      .filter((name) => names.at(name)?.bundleId === bundleId);
  }

  #forget(server: string, uri: string): boolean {
    const uris = this.#servers.get(server)?.uris;
    clearTimeout(uris?.get(uri));
    const wasWatched = uris?.delete(uri) ?? false;
    if (uris?.size === 0) this.#servers.delete(server);
    return wasWatched;
  }

  #changed(server: string, uri: string): void {
    const uris = this.#servers.get(server)?.uris;
    if (!uris?.has(uri) || uris.get(uri) !== undefined) return;
    const announce = () => {
      uris.set(uri, undefined);
      this.#notify({ mcp_server: server, uri });
    };
    uris.set(uri, setTimeout(announce, COALESCE_MS));
  }

  /** A restarted MCP server has no subscription, and may have other contents. */
  async #subscribeAgain(server: string): Promise<void> {
    const connection = this.#host.names.at(server)?.connection;
    const watched = this.#servers.get(server);
    if (!connection || !watched || watched.connection === connection) return;
    watched.connection = connection;
    for (const uri of [...watched.uris.keys()]) {
      try {
        await connection.subscribe(uri);
        this.#changed(server, uri);
      } catch (error) {
        log.warn("Cannot subscribe to a resource of {server}: {reason}", {
          server,
          reason: reasonOf(error),
        });
      }
    }
  }
}
