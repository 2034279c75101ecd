/**
 * The changes of an MCP server since 2026-07-28: one request that stays open, `subscriptions/listen`, names
 * all that is subscribed to. Another subscription is another request with all of them, and the one before
 * ends once it is acknowledged, so that no change is missed between the two.
 *
 * @module
 */
import type { ServerCapabilities } from "@modelcontextprotocol/sdk/types";
import { coalesce, sleep, withTimeout } from "../../../shared/async.ts";
import { mcpErrorCode, sdkFailure } from "./errors.ts";

/** With this notification a stream begins. */
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** Time before a stream that was cut is opened again; doubles each time, up to the second. */
const REOPEN_MS = 1_000;
const MAX_REOPEN_MS = 60_000;

/** What a stream needs of its connection. */
interface StreamParts {
  /** Sends the request, which stays open. */
  listen(
    notifications: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<unknown>;
  /** Takes a notification in place of those that may have been missed. */
  missed(method: string, params: Record<string, unknown>): void;
  /** Time for a stream to begin. */
  readonly timeoutMs: number;
}

/** The request that is open, or being opened. */
interface OpenStream {
  /** All that it names, as JSON. */
  readonly filter: string;
  /** Ends it. */
  readonly end: AbortController;
}

/** Settles when what is subscribed to is acknowledged, or is not. */
type Waiter = ReturnType<typeof Promise.withResolvers<void>>;

/** The changes of a server. */
export class ChangeStream {
  readonly #parts: StreamParts;
  /** The lists whose changes it announces, by the fields that ask for them. */
  readonly #lists: ReadonlyMap<string, string>;
  readonly #uris = new Set<string>();
  readonly #end = new AbortController();
  #waiters: Waiter[] = [];
  #begun: (() => void) | undefined;
  #current: OpenStream | undefined;
  #delayMs = REOPEN_MS;
  readonly #renew: () => void = coalesce(() => this.#open());

  /** Creates a stream, which opens at once where the server announces changes of lists. */
  constructor(capabilities: ServerCapabilities, parts: StreamParts) {
    this.#parts = parts;
    const lists = ["tools", "prompts", "resources"] as const;
    this.#lists = new Map(
      lists.filter((list) => capabilities[list]?.listChanged)
        .map((
          list,
        ) => [`${list}ListChanged`, `notifications/${list}/list_changed`]),
    );
    if (this.#lists.size > 0) this.#renew();
  }

  /** Takes a notification; returns whether it is about the stream itself. */
  takes(method: string): boolean {
    if (method !== ACKNOWLEDGED) return false;
    this.#begun?.();
    return true;
  }

  /**
   * Subscribes to changes of a resource.
   *
   * @throws the refusal of the server
   */
  async add(uri: string): Promise<void> {
    this.#uris.add(uri);
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    queueMicrotask(this.#renew); // once for several in a row
    try {
      await waiter.promise;
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  /** Ends a subscription. */
  remove(uri: string): void {
    if (this.#uris.delete(uri)) queueMicrotask(this.#renew);
  }

  /** Ends the stream. */
  close(): void {
    this.#end.abort(new Error("The connection is closed"));
    this.#settle((waiter) => waiter.reject(this.#end.signal.reason));
  }

  #settle(how: (waiter: Waiter) => void): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    waiters.forEach(how);
  }

  /** Opens a stream for what is subscribed to now, in place of the current one. */
  async #open(): Promise<void> {
    if (this.#end.signal.aborted) return;
    const previous = this.#current;
    if (this.#lists.size + this.#uris.size === 0) {
      this.#current = undefined;
      return previous?.end.abort();
    }
    const filter = {
      ...Object.fromEntries([...this.#lists.keys()].map((key) => [key, true])),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    };
    const own = { filter: JSON.stringify(filter), end: new AbortController() };
    const waiters = this.#waiters;
    this.#waiters = [];
    if (previous?.filter === own.filter) {
      for (const waiter of waiters) waiter.resolve();
      return;
    }
    this.#current = own;
    const { timeoutMs, listen } = this.#parts;
    const signal = AbortSignal.any([own.end.signal, this.#end.signal]);
    const begun = Promise.withResolvers<void>();
    this.#begun = begun.resolve;
    let isOpen = false;
    listen(filter, signal).then(
      () => begun.reject(new Error("The MCP server ended the subscription")),
      begun.reject,
    ).finally(() => {
      if (isOpen && !signal.aborted) void this.#reopen(own);
      own.end.abort();
    });
    try {
      await withTimeout(timeoutMs, () => begun.promise, { signal });
      isOpen = true;
      this.#delayMs = REOPEN_MS;
      for (const waiter of waiters) waiter.resolve();
      previous?.end.abort();
    } catch (error) {
      own.end.abort();
      this.#current = previous?.end.signal.aborted ? undefined : previous;
      for (const waiter of waiters) waiter.reject(error);
      const isRefusal = mcpErrorCode(error) !== undefined &&
        sdkFailure(error as Error) === undefined;
      // A server that refuses its first stream has none.
      if (previous || !isRefusal) void this.#reopen(undefined);
    }
  }

  /** Opens a stream again after a while, and reports what may have changed meanwhile. */
  async #reopen(lost: OpenStream | undefined): Promise<void> {
    if (this.#current !== lost) return; // another one replaces it, or is still open
    this.#current = undefined;
    const delay = this.#delayMs;
    this.#delayMs = Math.min(delay * 2, MAX_REOPEN_MS);
    try {
      await sleep(delay, this.#end.signal);
    } catch {
      return;
    }
    const waiter = Promise.withResolvers<void>();
    this.#waiters.push(waiter);
    this.#renew();
    waiter.promise.then(() => {
      for (const method of this.#lists.values()) this.#parts.missed(method, {});
      for (const uri of this.#uris) {
        this.#parts.missed(RESOURCE_UPDATED, { uri });
      }
    }, () => {});
  }
}

const RESOURCE_UPDATED = "notifications/resources/updated";
