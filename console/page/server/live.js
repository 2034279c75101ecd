// @ts-check
/// <reference lib="dom" />
/* The state from a Server's stream: the latest calls and events, and counts of the last minutes. */
/** @import { PendingCalls } from "./call_table.js" */
/** @import { LogEvent } from "./events.js" */
import { button, h } from "../kit/element.js";
import { Live } from "../kit/live.js";
import { hasFailed, outcomeText } from "../kit/text.js";
import { CallTable } from "./call_table.js";
import { Pulse, Seconds } from "./counts.js";

/**
 * The state of the processes in one second.
 * @typedef {{ at: number } & import("./status.js").Sums} Sample
 */

/** How many events are kept. */
const MAX_KEPT = 2000;
/** How many more may gather before the oldest are dropped together. */
const SLACK = 500;
/** Of how many offices the calls are counted: those that changed last. */
const MAX_PULSES = 5000;

/** The state from a Server's stream, which is resumed after a lost connection. */
export class ServerLive extends Live {
  #calls = new CallTable();
  /** The newest, oldest first. @type {LogEvent[]} */
  log = [];
  seconds = new Seconds();
  /** The state of the processes, oldest first. @type {Sample[]} */
  samples = [];
  /** How often the sign-ins of programs have changed, or may have. */
  signInChanges = 0;
  /** When the page began to count, in milliseconds since 1970. */
  openedAt = Date.now();
  /** Of all offices. */
  pulse = new Pulse();
  /** @type {Map<string, Pulse>} */
  #pulses = new Map();
  #keys = 0;
  #lastId = "";

  /** @override @returns {Record<string, string>} */
  headers() {
    return this.#lastId === "" ? {} : { "Last-Event-ID": this.#lastId };
  }

  /** The newest, oldest first. */
  get calls() {
    return this.#calls.all;
  }

  /** The key of the latest beginning or end of a call. */
  get lastKey() {
    return this.#calls.lastKey;
  }

  /**
   * Takes a list of calls in flight.
   *
   * @param {PendingCalls} list
   * @param {string} [office] the office of the list; all by default
   */
  adopt(list, office) {
    this.#calls.adopt(list, office);
    this.changed();
  }

  /**
   * Returns the calls of an office; `undefined` while it is quiet.
   *
   * @param {string} office
   */
  pulseOf(office) {
    return this.#pulses.get(office);
  }

  /**
   * @override
   * @param {{ id: string, event: string, data: Readonly<Record<string, any>> }} event
   */
  take({ id, event, data }) {
    if (id !== "") this.#lastId = id;
    const at = Date.parse(data["at"]) || Date.now();
    if (event === "open") {
      if (!data["missed"]) return;
      this.#calls.forgetPending();
      this.signInChanges++;
    }
    const entry = { key: ++this.#keys, at, event, data };
    this.log.push(entry);
    if (this.log.length > MAX_KEPT + SLACK) {
      this.log = this.log.slice(-MAX_KEPT);
    }
    const office = data["office"];
    const pulse = office === undefined ? undefined : this.#pulseFor(office);
    if (pulse) pulse.last = entry;
    if (/^(sign_in_allowed|grant_ended)$/.test(event)) this.signInChanges++;
    else if (event === "call_began") this.#calls.began(at, data);
    else if (event === "call_waiting") this.#calls.waits(at, data);
    else if (event === "call_ended") {
      this.#calls.ended(at, data);
      this.seconds.add(at, Number(data["ms"]), outcomeText(data));
      const failed = hasFailed(String(data["outcome"]));
      this.pulse.add(at, failed);
      pulse?.add(at, failed);
    }
  }

  /** @param {string} office */
  #pulseFor(office) {
    const found = this.#pulses.get(office) ?? new Pulse();
    this.#pulses.delete(office);
    this.#pulses.set(office, found);
    const [oldest] = this.#pulses.keys();
    if (this.#pulses.size > MAX_PULSES) this.#pulses.delete(String(oldest));
    return found;
  }
}

/** The least time between two drawings of a list: people do not read faster, and clicks need a moment. */
const DRAW_MS = 250;

/**
 * Draws after events of the stream, but not too often, and not while it is stopped.
 *
 * @param {ServerLive} live
 * @param {AbortSignal} signal
 * @param {() => void} draw
 * @returns {HTMLElement} a button that stops and resumes it, with the state of the stream
 */
export function drawing(live, signal, draw) {
  let isPaused = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const state = h("span.muted", { role: "status" });
  const now = () => {
    timer = undefined;
    const text = live.state === "open"
      ? isPaused ? "stopped" : "live"
      : `${live.state} …${live.problem ? ` ${live.problem}` : ""}`;
    if (state.textContent !== text) state.textContent = text;
    if (!isPaused) draw();
  };
  const soon = () => void (timer ??= setTimeout(now, DRAW_MS));
  live.subscribe(soon, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
  const stop = button("Stop", () => {
    isPaused = !isPaused;
    stop.setAttribute("aria-pressed", String(isPaused));
    now();
  }, { "aria-pressed": "false" });
  now();
  return h("span.actions", stop, state);
}
