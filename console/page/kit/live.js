// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "./api.js" */
import { errorMessage, ProblemError } from "./api.js";

/** How long the page waits before it connects again, at first and at most. */
const RETRY_MS = { first: 500, most: 10_000 };

/** The state from the stream of events; each page has its own class for its events. */
export class Live {
  /** @type {"connecting" | "open" | "lost"} */
  state = "connecting";
  /** Why it was lost. @type {string | undefined} */
  problem;
  /** @type {Set<() => void>} */
  #listeners = new Set();
  #isDrawing = false;

  /**
   * Takes an event of the stream.
   *
   * @param {{ id: string, event: string, data: any }} _event
   * @param {boolean} _isFirst of a stream
   */
  take(_event, _isFirst) {}

  /** The headers with which the stream is resumed. @returns {Record<string, string>} */
  headers() {
    return {};
  }

  /**
   * Reads the stream; connects again whenever it ends.
   *
   * @param {Api} api
   * @param {AbortSignal} signal
   */
  async follow(api, signal) {
    let delay = RETRY_MS.first;
    while (!signal.aborted) {
      try {
        const { body } = await api.open("events", this.headers(), signal);
        if (!body) throw new TypeError("The stream is empty");
        let isFirst = true;
        for await (const events of readEvents(body)) {
          this.state = "open";
          this.problem = undefined;
          for (const { data, ...event } of events) {
            this.take({ ...event, data: JSON.parse(data) }, isFirst);
            isFirst = false;
          }
          this.changed();
        }
        delay = RETRY_MS.first;
      } catch (error) {
        if (error instanceof ProblemError && error.status === 401) return;
        this.problem = errorMessage(error);
      }
      if (signal.aborted) return;
      this.state = "lost";
      this.changed();
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(2 * delay, RETRY_MS.most);
    }
  }

  /** Notifies subscribers with the next frame, or soon on a hidden page, which has no frames. */
  changed() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    const later = document.hidden ? setTimeout : requestAnimationFrame;
    later(() => {
      this.#isDrawing = false;
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /**
   * Adds a listener, which is called now and at most once a frame.
   *
   * @param {() => void} listener
   * @param {AbortSignal} until
   */
  subscribe(listener, until) {
    this.#listeners.add(listener);
    until.addEventListener("abort", () => this.#listeners.delete(listener));
    listener();
  }
}

/**
 * An event of a stream.
 * @typedef {{ id: string, event: string, data: string }} ServerEvent
 */

/** What one event may have, in characters; a stream with more of it is no stream of events. */
const MAX_EVENT_CHARS = 4 * 2 ** 20;

/**
 * Reads a stream of events as EventSource does, which cannot send a token. Each value is all that came
 * in one piece, so that a page draws once for many of them.
 *
 * @param {ReadableStream<Uint8Array>} stream
 * @returns {AsyncGenerator<ServerEvent[], void, void>}
 */
export async function* readEvents(stream) {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const end = rest.lastIndexOf("\n\n");
      if (end === -1) {
        if (rest.length > MAX_EVENT_CHARS) {
          throw new Error("An event is too large");
        }
        continue;
      }
      const whole = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const events = whole.split("\n\n").map(readEvent).filter((event) =>
        event.data !== ""
      );
      if (events.length > 0) yield events;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * @param {string} text
 * @returns {ServerEvent}
 */
function readEvent(text) {
  const found = { id: "", event: "message", data: "" };
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    const name = line.slice(0, at);
    const value = line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    if (name === "data") found.data += found.data === "" ? value : `\n${value}`;
    else if (name === "id" || name === "event") found[name] = value;
  }
  return found;
}
