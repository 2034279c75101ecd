import { reasonOf } from "../util/values.ts";
import {
  changeEvents,
  type ListedUris,
  listedUris,
  NO_URIS,
} from "./change_events.ts";
import { withTimeout } from "../util/deadline.ts";
import { type HostClaims, hostClaims } from "./host_index.ts";
import { forEachConcurrent } from "../util/for_each_concurrent.ts";
import { log } from "../util/log.ts";
import type { McpConnection } from "../host/mcp/connection.ts";
import type { Resource, ServerEvent } from "../../protocol/mod.ts";
import { identityOf, isDocument } from "./listed_uri.ts";
import { listResources, takesPart } from "./servers.ts";

/** How many subscriptions are asked for at a time. */
const AT_A_TIME = 16;
/** Milliseconds that an MCP server gets to take them all before the rest of the work goes on. */
const SUBSCRIBE_PATIENCE = 5_000;

/** What is known of the resources of one MCP server, kept up to date while it runs. */
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

  /** @param changed is told what the office is to hear (spec §8.5) */
  constructor(name: string, changed: (...events: ServerEvent[]) => void) {
    this.#name = name;
    this.#changed = changed;
  }

  /** The hosts of its resources; undefined before they were listed. */
  get claims(): HostClaims | undefined {
    return this.#claims;
  }

  /**
   * The URI that it lists a document under, which is the one that it knows: Agents see it without
   * query and fragment (spec §8.3).
   */
  originalOf(uri: string): string {
    return this.#originals.get(identityOf(uri)) ?? uri;
  }

  /** It runs, again or for the first time: nothing that the old process was told counts. */
  async started(connection: McpConnection): Promise<void> {
    if (this.#connection === connection) return;
    this.#connection = connection;
    this.#subscribed = new Set();
    await this.refresh();
  }

  /**
   * It does not run: it has no windows and documents now.
   *
   * @param comesBack keeps its hosts, so that no other server is taken for it meanwhile
   */
  ended(comesBack: boolean): void {
    this.#connection = undefined;
    if (!comesBack) this.#claims = undefined;
    this.#list(NO_URIS);
  }

  /** Takes a list of its resources; tells whether it says what is known already. */
  saw(resources: readonly Resource[]): boolean {
    this.#originals = originalsOf(resources);
    const uris = listedUris(resources);
    return changeEvents(this.#uris, { kind: "listed", uris }).length === 0;
  }

  /**
   * Lists its resources, subscribes to the new ones, and tells what changed.
   *
   * What is asked for while it runs is done once more after it. Never rejects.
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
        if (this.#connection !== connection) return; // it ended meanwhile
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
    // Before the office hears of it: what changes after somebody has read it is announced.
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
      SUBSCRIBE_PATIENCE,
      (signal) =>
        forEachConcurrent(missing, AT_A_TIME, async (uri) => {
          try {
            await connection.subscribe(uri, { signal });
            subscribed.add(uri);
          } catch (error) {
            reason = reasonOf(error);
          }
        }),
    ).catch((error) => reason = reasonOf(error));
    if (reason === undefined) return;
    log.warn("Cannot subscribe to {count} resources of {server}: {reason}", {
      count: wanted.size - subscribed.size,
      server: this.#name,
      reason,
    });
  }
}

/** By identity; one that is listed without a query stands for itself, else the first does. */
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
