import { forEachConcurrent, withTimeout } from "../../shared/async.ts";
import { reasonOf } from "../util/values.ts";
import {
  changeEvents,
  type ListedUris,
  listedUris,
  NO_URIS,
} from "./change_events.ts";
import { type HostClaims, hostClaims } from "./host_index.ts";
import { log } from "../util/log.ts";
import type { McpConnection } from "../host/mcp/connection.ts";
import type { Resource, ServerEvent } from "../../protocol/mod.ts";
import { identityOf, isDocument } from "./listed_uri.ts";
import { listResources, takesPart } from "./servers.ts";

const MAX_CONCURRENT_SUBSCRIPTIONS = 16;
/** Limit for all subscriptions of a server; after it, work goes on with those that succeeded. */
const SUBSCRIBE_TIMEOUT_MS = 5_000;

/** Tracks the resources of one MCP server while it runs. */
export class WatchedServer {
  readonly #name: string;
  readonly #changed: (...events: ServerEvent[]) => void;
  #connection: McpConnection | undefined;
  #uris: ListedUris = NO_URIS;
  #subscribed = new Set<string>();
  #claims: HostClaims | undefined;
  #originals: ReadonlyMap<string, string> = new Map();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /** @param changed receives the events to announce to the office (spec §8.5) */
  constructor(name: string, changed: (...events: ServerEvent[]) => void) {
    this.#name = name;
    this.#changed = changed;
  }

  /** The hosts of its resources; undefined before the first listing. */
  get claims(): HostClaims | undefined {
    return this.#claims;
  }

  /**
   * Returns the URI under which the server lists a document, which is the only one it understands:
   * Agents see it without query and fragment (spec §8.3).
   */
  originalOf(uri: string): string {
    return this.#originals.get(identityOf(uri)) ?? uri;
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
    if (!comesBack) this.#claims = undefined;
    this.#list(NO_URIS);
  }

  /** Records a list of its resources; returns whether the URIs are unchanged. */
  saw(resources: readonly Resource[]): boolean {
    this.#originals = originalsOf(resources);
    const uris = listedUris(resources);
    return changeEvents(this.#uris, { kind: "listed", uris }).length === 0;
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
    const resources = await listResources(connection);
    if (this.#connection !== connection) return;
    this.#claims = hostClaims(this.#name, resources);
    this.#originals = originalsOf(resources);
    if (!takesPart(connection)) return;
    const uris = listedUris(resources);
    // Subscribes before announcing, so that no change after an Agent's read is missed.
    await this.#subscribe(connection, uris);
    if (this.#connection === connection) this.#list(uris);
  }

  #list(uris: ListedUris): void {
    const events = changeEvents(this.#uris, { kind: "listed", uris });
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

/** Maps identities to listed URIs; a URI without a query wins, else the first one. */
function originalsOf(resources: readonly Resource[]): Map<string, string> {
  const originals = new Map<string, string>();
  for (const uri of resources.map(({ uri }) => uri).filter(isDocument)) {
    const identity = identityOf(uri);
    if (uri === identity || !originals.has(identity)) {
      originals.set(identity, uri);
    }
  }
  return originals;
}
