import type { Journal, SeenEvent } from "../../shared/audit.ts";
import { TimeText } from "../../shared/log.ts";
import type { FeedEvent } from "./event_pages.ts";
import { showLog } from "./log_events.ts";

/** The largest event that is kept with the contents of its call, in characters. */
const MAX_EVENT_CHARS = 65_536;
/** How long events are collected before they are sent together; pages draw as often. */
const FLUSH_INTERVAL_MS = 250;
/** The most events that are collected, with the contents of their calls. */
const MAX_COLLECTED_EVENTS = 1024;

/** Takes what happens. */
export interface EventTaker {
  /** Keeps events. */
  add(events: readonly FeedEvent[]): void;
  /** Sends what was kept. */
  flush(): void;
}

/** An event that is not written yet. */
interface Collected {
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  readonly event: SeenEvent;
}

/** Writes down what happens on this node while anybody takes it; otherwise it hears of nothing. */
export class Recorder {
  readonly #journal: Journal;
  readonly #takers = new Set<EventTaker>();
  readonly #times = new TimeText();
  #collected: Collected[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unlisten: () => void = () => {};

  /** @param journal tells it of events */
  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Gives events to a taker from now on, until the returned function is called. */
  record(taker: EventTaker): () => void {
    this.seal(); // what follows is new to it
    if (this.#takers.size === 0) {
      const take = (event: SeenEvent) => this.#take(event);
      this.#journal.onlooker = take;
      this.#unlisten = showLog(take);
    }
    this.#takers.add(taker);
    return () => {
      if (!this.#takers.delete(taker) || this.#takers.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#journal.onlooker = undefined;
      this.#unlisten();
      this.#collected = [];
    };
  }

  /** Has what was collected kept. */
  seal(): void {
    if (this.#collected.length === 0) return;
    const events = this.#collected.map((each) => this.#toText(each));
    this.#collected = [];
    for (const taker of this.#takers) taker.add(events);
  }

  /** Costs a call as little as can be: the rest is done for many events together. */
  #take(event: SeenEvent): void {
    this.#collected.push({ at: Date.now(), event });
    if (this.#collected.length >= MAX_COLLECTED_EVENTS) this.seal();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.seal();
      for (const taker of this.#takers) taker.flush();
    }, FLUSH_INTERVAL_MS);
  }

  #toText({ at, event }: Collected): FeedEvent {
    // Neither a Date nor a copy, with which JSON.stringify() takes several times as long.
    const head = `{"at":"${this.#times.of(at)}",`;
    let json = head + JSON.stringify(event).slice(1);
    if (json.length > MAX_EVENT_CHARS) {
      const small = { ...event, params: undefined, result: undefined };
      json = head + JSON.stringify(small).slice(1);
    }
    const office = "office" in event ? event.office : undefined;
    return { office, kind: event.event, json };
  }
}
