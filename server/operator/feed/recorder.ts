import type { Journal, SeenEvent } from "../../shared/audit.ts";
import { listenToLog, type LogLine, TimeText } from "../../shared/log.ts";
import type { FeedEvent } from "./event_pages.ts";
import { TokenBucket } from "../../shared/pending.ts";

/** The largest event that is kept with the contents of its call, in characters. */
const MAX_EVENT_CHARS = 65_536;
/** How long events are collected before they are sent together; pages draw as often. */
const FLUSH_INTERVAL_MS = 250;
/** The most events that are collected, with the contents of their calls. */
const MAX_COLLECTED_EVENTS = 1024;

/** Takes what happens. */
interface EventTaker {
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

/** Lines per second that are shown: those of a flood would push out all other events. */
const LINES_PER_SECOND = 50;
/** The longest message that is shown, in characters. */
const MAX_MESSAGE_CHARS = 2000;
/** The longest fields, as JSON. */
const MAX_FIELDS_CHARS = 8000;

type LogEvent = Extract<SeenEvent, { event: "log" }>;

/**
 * Shows the lines of the log as events, until the returned function is called. They belong to no
 * office: only operators of all offices see them.
 */
export function showLog(tell: (event: LogEvent) => void): () => void {
  const bucket = new TokenBucket(LINES_PER_SECOND, performance.now());
  let omitted = 0;
  return listenToLog((line) => {
    if (!bucket.take(performance.now())) return void omitted++;
    tell({ ...eventOf(line), ...(omitted > 0 && { omitted }) });
    omitted = 0;
  });
}

function eventOf({ level, message, fields }: LogLine): LogEvent {
  const text = jsonOf(fields);
  return {
    event: "log",
    level,
    message: message.replaceAll(
      /\{(\w+)\}/g,
      (place, name) =>
        Object.hasOwn(fields, name) ? jsonOf(fields[name]) ?? place : place,
    ).slice(0, MAX_MESSAGE_CHARS),
    ...(text !== undefined && text !== "{}" && text.length < MAX_FIELDS_CHARS &&
      { fields: JSON.parse(text) }),
  };
}

/** @returns `undefined` for what has no JSON */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(
      value,
      (_key, part) =>
        part instanceof Error ? `${part.name}: ${part.message}` : part,
    );
  } catch { // a circle, or a BigInt
    return undefined;
  }
}
