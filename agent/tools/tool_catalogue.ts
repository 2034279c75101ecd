import { isComputerNotFound } from "../requests/computer_not_found.ts";
import { isTooMany, RequestQueue } from "./request_queue.ts";
import { ConnectionError } from "../../client/errors.ts";
import type { AnyNotification } from "../../client/options.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  LEAVE_OFFICE_NOTIFICATION,
  type SMCPTool,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../protocol/mod.ts";

/** How a notification changes the tools that an Agent knows. */
export type CatalogueStep = { fetch: string } | { forget: string } | undefined;

/** Decides how a notification changes the catalogue (spec §9). */
export function catalogueStep(notification: AnyNotification): CatalogueStep {
  switch (notification.event) {
    case ENTER_OFFICE_NOTIFICATION: {
      const { computer } = notification.payload;
      return computer === undefined ? undefined : { fetch: computer };
    }
    case LEAVE_OFFICE_NOTIFICATION: {
      const { computer } = notification.payload;
      return computer === undefined ? undefined : { forget: computer };
    }
    case UPDATE_TOOL_LIST_NOTIFICATION:
    case UPDATE_CONFIG_NOTIFICATION:
      return { fetch: notification.payload.computer };
    default:
      return undefined;
  }
}

/** How the catalogue reaches the office and reports changes. */
export interface CatalogueOffice {
  /** Lists the Computers in the office. */
  list(): Promise<string[]>;
  /** Fetches the tools of one Computer. */
  fetch(computer: string): Promise<SMCPTool[]>;
  /** Called after each change; without tools when the Computer left. */
  changed(computer: string, tools: readonly SMCPTool[] | undefined): void;
  /** Called when tools could not be fetched; those known before stay. */
  failed(computer: string, error: unknown): void;
}

/**
 * The tools of every Computer in the office, kept up to date (spec §9).
 *
 * Fetches once per Computer at a time: changes during a fetch lead to one more fetch after it, so
 * the last state always arrives, and an old answer never replaces a newer one.
 */
export class ToolCatalogue {
  readonly #office: CatalogueOffice;
  readonly #tools = new Map<string, readonly SMCPTool[]>();
  readonly #fetches = new Map<string, Fetch>();
  readonly #queue = new RequestQueue();
  #listing: Promise<void> | undefined;

  /** Makes an empty catalogue. */
  constructor(office: CatalogueOffice) {
    this.#office = office;
  }

  /** Tools by Computer, as last fetched. */
  get byComputer(): ReadonlyMap<string, readonly SMCPTool[]> {
    return this.#tools;
  }

  /** Starts over after a join: forgets Computers that left, fetches the tools of all others. */
  refresh(): void {
    const request = this.#queue.run(() => this.#office.list(), isTransient);
    const listing = request.then((computers) => {
      if (this.#listing !== listing) return;
      for (const known of [...this.#tools.keys()]) {
        // A Computer that is being fetched may have entered after the list was made.
        const isComing = this.#fetches.has(known);
        if (!computers.includes(known) && !isComing) this.forget(known);
      }
      computers.forEach((computer) => this.fetch(computer));
    }, () => {
      // The connection is gone again: the next join starts over.
    }).finally(() => {
      if (this.#listing === listing) this.#listing = undefined;
    });
    this.#listing = listing;
  }

  /** Applies a step of {@linkcode catalogueStep}. */
  apply(step: CatalogueStep): void {
    if (!step) return;
    if ("fetch" in step) this.fetch(step.fetch);
    else this.forget(step.forget);
  }

  /** Fetches the tools of a Computer, now or after the fetch that is running. */
  fetch(computer: string): void {
    const running = this.#fetches.get(computer);
    if (running) running.again = true;
    else this.#run(computer);
  }

  /** Forgets a Computer. */
  forget(computer: string): void {
    this.#fetches.delete(computer); // a pending answer is dropped
    if (this.#tools.delete(computer)) {
      this.#office.changed(computer, undefined);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#queue.end();
    this.#fetches.clear();
    this.#listing = undefined;
    for (const computer of [...this.#tools.keys()]) this.forget(computer);
  }

  /** Resolves once no fetch is running. */
  async settled(): Promise<void> {
    while (this.#listing || this.#fetches.size > 0) {
      await this.#listing;
      await Promise.all([...this.#fetches.values()].map((f) => f.done));
    }
  }

  #run(computer: string): void {
    const fetch: Fetch = { again: false, done: Promise.resolve() };
    this.#fetches.set(computer, fetch);
    const current = () => this.#fetches.get(computer) === fetch;
    const request = this.#queue.run(() => this.#office.fetch(computer));
    fetch.done = request.then((tools) => {
      if (!current()) return;
      this.#tools.set(computer, tools);
      this.#office.changed(computer, tools);
    }, (error) => {
      if (!current()) return;
      if (!isComputerNotFound(error)) this.#office.failed(computer, error);
      else if (!fetch.again) this.forget(computer); // otherwise it has come back
    }).then(() => {
      if (!current()) return;
      this.#fetches.delete(computer);
      if (fetch.again) this.#run(computer);
    });
  }
}

interface Fetch {
  again: boolean;
  done: Promise<void>;
}

/** Checks whether another attempt may succeed. */
const isTransient = (error: unknown): boolean =>
  isTooMany(error) ||
  error instanceof ConnectionError && error.code === "timeout";
