// @ts-check
/// <reference lib="dom" />
/*
 * What a Server's stream says: the latest calls and events, and counts of the last minutes. A call
 * is known by its office, Agent and request; its beginning may be known from a list before the
 * stream tells it.
 */
/** @import { LogEvent } from "./events.js" */
import { button, h } from "../kit/element.js";
import { Live } from "../kit/live.js";
import { hasFailed, outcomeText } from "../kit/text.js";
import { Pulse, Seconds } from "./counts.js";

/**
 * The state of the processes in one second.
 * @typedef {{ at: number } & import("./status.js").Sums} Sample
 */

/** How many calls, and how many events, are kept. */
const MAX_KEPT = 2000;
/** How many more may gather before the oldest are dropped together. */
const SLACK = 500;
/** Of how many offices the calls are counted: those that changed last. */
const MAX_PULSES = 5000;

/**
 * @typedef {object} OfficeCall
 * @property {string} office
 * @property {string} agent
 * @property {string} computer
 * @property {string} request
 * @property {string} [tool]
 * @property {string} reqId
 * @property {number} [sentBytes] of the request
 * @property {number} [bytes] of the answer
 * @property {unknown} [params]
 * @property {unknown} [result]
 *
 * A call; its key numbers the calls of this page.
 * @typedef {OfficeCall & import("../kit/calls.js").AnyCall} Call
 *
 * A call as the API lists those in flight.
 * @typedef {{ office: string, agent: string, computer: string, req_id: string, request: string, tool?: string, waiting?: string, ms: number }} PendingCall
 */

/** What a Server says; the stream goes on where it was when it ended. */
export class ServerLive extends Live {
  /** The newest, oldest first. @type {Call[]} */
  calls = [];
  /** The newest, oldest first. @type {LogEvent[]} */
  log = [];
  seconds = new Seconds();
  /** What the processes said of themselves, oldest first. @type {Sample[]} */
  samples = [];
  /** When the page began to count, in milliseconds since 1970. */
  openedAt = Date.now();
  /** Of all offices. */
  pulse = new Pulse();
  /** @type {Map<string, Pulse>} */
  #pulses = new Map();
  /** Calls without an end, by what identifies them. @type {Map<string, Call>} */
  #pending = new Map();
  /** Calls whose beginning is not told, or not yet. @type {WeakSet<Call>} */
  #adopted = new WeakSet();
  #keys = 0;
  #lastId = "";

  /** @override @returns {Record<string, string>} */
  headers() {
    return this.#lastId === "" ? {} : { "Last-Event-ID": this.#lastId };
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
   * Adds the calls in flight that began before anybody observed them.
   *
   * @param {readonly PendingCall[]} listed
   */
  adopt(listed) {
    for (const each of listed) {
      const call = callOf(++this.#keys, Date.now() - each.ms, each);
      const known = this.#pending.get(idOf(call));
      if (known) {
        known.waiting = each.waiting ?? null;
        continue;
      }
      this.#adopted.add(call);
      this.#add(call);
    }
    this.changed();
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
      this.#pending.clear(); // whose ends may be among what was missed
      this.calls = this.calls.filter(({ endedAt }) => endedAt !== undefined);
    }
    const entry = { key: ++this.#keys, at, event, data };
    this.log.push(entry);
    if (this.log.length > MAX_KEPT + SLACK) {
      this.log = this.log.slice(-MAX_KEPT);
    }
    const office = data["office"];
    const pulse = office === undefined ? undefined : this.#pulseFor(office);
    if (pulse) pulse.last = entry;
    if (event === "call_began") this.#began(at, data);
    else if (event === "call_ended") this.#ended(at, data, pulse);
    else if (event === "call_waiting") {
      const known = this.#pending.get(idOf(callOf(0, at, data)));
      if (known) known.waiting = data["waiting"];
    }
  }

  /**
   * @param {number} at
   * @param {Readonly<Record<string, any>>} data
   */
  #began(at, data) {
    const call = callOf(++this.#keys, at, data);
    const listed = this.#pending.get(idOf(call));
    // The list of calls may be faster than the stream.
    if (listed && this.#adopted.delete(listed)) {
      Object.assign(listed, { ...call, key: listed.key });
    } else this.#add(call);
  }

  /**
   * @param {number} at
   * @param {Readonly<Record<string, any>>} data
   * @param {Pulse | undefined} pulse of the office
   */
  #ended(at, data, pulse) {
    const ms = Number(data["ms"]);
    const outcome = outcomeText(data);
    const ended = callOf(++this.#keys, at - ms, data);
    const known = this.#pending.get(idOf(ended));
    const { bytes, result } = data;
    Object.assign(known ?? ended, { endedAt: at, ms, outcome, bytes, result });
    this.#pending.delete(idOf(ended));
    if (!known) this.#add(ended);
    this.seconds.add(at, ms, outcome);
    const failed = hasFailed(String(data["outcome"]));
    this.pulse.add(at, failed);
    pulse?.add(at, failed);
  }

  /** @param {Call} call */
  #add(call) {
    if (call.endedAt === undefined) this.#pending.set(idOf(call), call);
    this.calls.push(call);
    if (this.calls.length <= MAX_KEPT + SLACK) return;
    for (const old of this.calls.slice(0, -MAX_KEPT)) {
      const id = idOf(old);
      if (this.#pending.get(id) === old) this.#pending.delete(id);
    }
    this.calls = this.calls.slice(-MAX_KEPT);
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

/** @param {Pick<Call, "office" | "agent" | "reqId">} call */
const idOf = ({ office, agent, reqId }) =>
  JSON.stringify([office, agent, reqId]);

/**
 * @param {number} key
 * @param {number} beganAt
 * @param {Readonly<Record<string, any>>} data
 * @returns {Call}
 */
const callOf = (key, beganAt, data) => {
  const { office, agent, computer, request, req_id: reqId } = data;
  const { event, tool, waiting, bytes: sentBytes, params } = data;
  return {
    ...{ key, office, agent, computer, request, reqId, beganAt },
    ...(tool !== undefined && { tool }),
    ...(waiting !== undefined && { waiting }),
    ...(event === "call_began" && { sentBytes, params }),
  };
};

/** How often a list is drawn at most: nobody reads faster, and clicks need a moment. */
const DRAW_MS = 250;

/**
 * Draws whenever the stream has said something, but not too often, and not while it is stopped.
 *
 * @param {ServerLive} live
 * @param {AbortSignal} signal
 * @param {() => void} draw
 * @returns {HTMLElement} stops it, and lets it go on; it says so where the stream is lost
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
