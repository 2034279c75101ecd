import {
  type ServerEvent,
  UPDATE_CONFIG_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_FINDER_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../protocol/mod.ts";

/** Milliseconds for which changes are collected, so that a burst becomes one announcement. */
const BURST = 50;

/** Announces changes, a burst of them once; the last state always arrives (spec §8.5). */
export class Announcer {
  readonly #send: (event: ServerEvent) => void;
  readonly #changed = new Set<ServerEvent>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param send tells the office; what cannot be told now is told again after the next join */
  constructor(send: (event: ServerEvent) => void) {
    this.#send = send;
  }

  /** Something changed; it is announced soon. */
  changed(...events: ServerEvent[]): void {
    for (const event of events) this.#changed.add(event);
    this.#timer ??= setTimeout(() => this.#flush(), BURST);
  }

  /** Everything may have changed. */
  all(): void {
    this.joined();
    this.changed(UPDATE_DESKTOP_EVENT, UPDATE_FINDER_EVENT);
  }

  /** An office that knows nothing yet: its Agent asks for windows and documents when it wants them. */
  joined(): void {
    this.changed(UPDATE_CONFIG_EVENT, UPDATE_TOOL_LIST_EVENT);
  }

  /** Forgets what was not announced. */
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
