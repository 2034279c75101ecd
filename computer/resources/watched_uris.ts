import {
  ErrorCode,
  ProtocolError,
  type UpdateResources,
} from "../../protocol/mod.ts";
import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/connection.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import { isDocument, isWindow } from "./listed.ts";

/** The most URIs of all MCP servers. */
const MAX_URIS = 1_000;
/** Changes of one resource within this time are told once. */
const COALESCE_MS = 100;

/** A resource that changed. */
export type ChangedResource = Required<Omit<UpdateResources, "computer">>;

/** The resources that an Agent wants to be told of, besides windows and documents (spec §8.5). */
export class WatchedUris {
  readonly #host: McpHost;
  readonly #tell: (changed: ChangedResource) => void;
  /** By MCP server, as the Agent names it. */
  readonly #uris = new Map<string, Set<string>>();
  /** Where they are subscribed to. */
  readonly #connections = new Map<string, McpConnection>();
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** @param tell tells the office, at most ten times a second of each resource */
  constructor(host: McpHost, tell: (changed: ChangedResource) => void) {
    this.#host = host;
    this.#tell = tell;
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
    const known = this.#uris.get(server);
    if (known?.has(uri)) return;
    const count = [...this.#uris.values()].reduce((n, { size }) => n + size, 0);
    if (count >= MAX_URIS) {
      throw new ProtocolError(
        ErrorCode.TOO_MANY_REQUESTS,
        `Too many resources are watched: at most ${MAX_URIS}`,
      );
    }
    const uris = known ?? new Set();
    uris.add(uri); // first: a change may come with the answer
    this.#uris.set(server, uris);
    this.#connections.set(server, connection);
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
    // Windows and documents stay subscribed to for everybody.
    if (isWindow(uri) || isDocument(uri)) return;
    this.#host.names.at(server)?.connection?.unsubscribe(uri).catch(() => {
      // It has ended, or does not know the request: what it tells is dropped.
    });
  }

  /** Watches nothing any more: whoever asked for it has left. */
  clear(): void {
    for (const [server, uris] of [...this.#uris]) {
      for (const uri of [...uris]) this.remove(server, uri);
    }
  }

  /** The names by which an Agent has asked of an MCP server. */
  #namesOf(bundleId: string): string[] {
    const { names } = this.#host;
    return [...this.#uris.keys()]
      .filter((name) => names.at(name)?.bundleId === bundleId);
  }

  #forget(server: string, uri: string): boolean {
    const key = keyOf(server, uri);
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    const uris = this.#uris.get(server);
    const wasWatched = uris?.delete(uri) ?? false;
    if (uris?.size === 0) {
      this.#uris.delete(server);
      this.#connections.delete(server);
    }
    return wasWatched;
  }

  #changed(server: string, uri: string): void {
    const key = keyOf(server, uri);
    if (!this.#uris.get(server)?.has(uri) || this.#timers.has(key)) return;
    this.#timers.set(
      key,
      setTimeout(() => {
        this.#timers.delete(key);
        this.#tell({ mcp_server: server, uri });
      }, COALESCE_MS),
    );
  }

  /** A restarted MCP server knows of no subscription, and may have other contents. */
  async #subscribeAgain(server: string): Promise<void> {
    const connection = this.#host.names.at(server)?.connection;
    const isNew = connection !== undefined &&
      this.#connections.has(server) &&
      this.#connections.get(server) !== connection;
    if (!isNew) return;
    this.#connections.set(server, connection);
    for (const uri of [...this.#uris.get(server) ?? []]) {
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

const keyOf = (server: string, uri: string): string =>
  JSON.stringify([server, uri]);
