import type { ProtocolName } from "../../../protocol/mod.ts";
import type { SeenEvent, Window } from "../../shared/journal.ts";
import { TimeText } from "../../shared/time_text.ts";
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
  /** When it was heard, in milliseconds since 1970. */
  readonly at: number;
  readonly protocol: ProtocolName | undefined;
  readonly event: SeenEvent;
}

/** Writes down what happens on this node while anybody takes it; otherwise it hears of nothing. */
export class Recorder {
  readonly #window: Window;
  readonly #takers = new Set<EventTaker>();
  readonly #times = new TimeText();
  #collected: Collected[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unlisten: () => void = () => {};

  /** @param window where it looks in */
  constructor(window: Window) {
    this.#window = window;
  }

  /** Gives events to a taker from now on, until the returned function is called. */
  record(taker: EventTaker): () => void {
    this.seal(); // what follows is new to it
    if (this.#takers.size === 0) {
      this.#window.onlooker = (event, protocol) => this.#hear(event, protocol);
      this.#unlisten = showLog((event) => this.#hear(event, undefined));
    }
    this.#takers.add(taker);
    return () => {
      if (!this.#takers.delete(taker) || this.#takers.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#window.onlooker = undefined;
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
  #hear(event: SeenEvent, protocol: ProtocolName | undefined): void {
    this.#collected.push({ at: Date.now(), protocol, event });
    if (this.#collected.length >= MAX_COLLECTED_EVENTS) this.seal();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.seal();
      for (const taker of this.#takers) taker.flush();
    }, FLUSH_INTERVAL_MS);
  }

  #toText({ at, protocol, event }: Collected): FeedEvent {
    // Neither a Date nor a copy, with which JSON.stringify() takes several times as long.
    const head = `{"at":"${this.#times.of(at)}",${
      protocol === undefined ? "" : `"protocol":"${protocol}",`
    }`;
    let json = head + JSON.stringify(event).slice(1);
    if (json.length > MAX_EVENT_CHARS) {
      const small = { ...event, params: undefined, result: undefined };
      json = head + JSON.stringify(small).slice(1);
    }
    const office = "office" in event ? event.office : undefined;
    return { office, kind: event.event, json };
  }
}
