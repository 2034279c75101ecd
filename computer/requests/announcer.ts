import {
  type ServerEvent,
  UPDATE_CONFIG_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
  UPDATE_SKILLS_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";

/** Changes within this time are announced once. */
const COALESCE_MS = 50;

/** Announces changes to the office, each burst once; the last state always arrives (spec §8.5). */
export class Announcer {
  readonly #send: (event: ServerEvent) => void;
  readonly #changed = new Set<ServerEvent>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param send emits an event to the office; events lost while offline are announced after a join */
  constructor(send: (event: ServerEvent) => void) {
    this.#send = send;
  }

  /** Announces events, shortly. */
  changed(...events: ServerEvent[]): void {
    for (const event of events) this.#changed.add(event);
    this.#timer ??= setTimeout(() => this.#flush(), COALESCE_MS);
  }

  /** Announces everything, after a rejoin: any of it may have changed. */
  all(): void {
    this.joined();
    this.changed(
      UPDATE_DESKTOP_EVENT,
      UPDATE_FINDER_EVENT,
      UPDATE_SKILLS_EVENT,
    );
  }

  /** Announces configuration and tools to a new office; its Agent fetches windows and documents on demand. */
  joined(): void {
    this.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
  }

  /** Drops pending announcements. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#changed.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    const events = [...this.#changed];
    this.#changed.clear();
    for (const event of events) this.#send(event);
  }
}
