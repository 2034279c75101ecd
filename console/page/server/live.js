// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
import { Pulse, Samples, Seconds } from "./counts.js";
import { ProblemError, readEvents } from "../kit/api.js";
import { h } from "../kit/element.js";
import { hasFailed, outcomeText } from "../kit/text.js";

/** How long the page waits before it connects again, at first and at most. */
const RETRY_MS = { first: 500, most: 10_000 };
/** How many calls, and how many events, are kept. */
const MAX_KEPT = 2000;
/** How many more may gather before the oldest are dropped together. */
const SLACK = 500;
/** Of how many offices the calls are counted: those that changed last. */
const MAX_PULSES = 5000;

/**
 * @typedef {object} Call
 * @property {number} key numbers the calls of this page
 * @property {string} office
 * @property {string} agent
 * @property {string} computer
 * @property {string} request
 * @property {string} [tool]
 * @property {string} reqId
 * @property {number} beganAt milliseconds since 1970
 * @property {number} [sentBytes] of the request
 * @property {string | null} [waiting] the person at the Computer that it waits for
 * @property {number} [endedAt]
 * @property {number} [ms]
 * @property {string} [outcome]
 * @property {number} [bytes] of the answer
 * @property {unknown} [params]
 * @property {unknown} [result]
 *
 * @typedef {import("./counts.js").LogEvent} LogEvent
 *
 * A call as the API lists those in flight.
 * @typedef {{ office: string, agent: string, computer: string, req_id: string, request: string, tool?: string, waiting?: string, ms: number }} PendingCall
 *
 * What the stream of a Server says.
 * @typedef {object} Live
 * @property {"connecting" | "open" | "lost"} state
 * @property {string} [problem] why it was lost
 * @property {readonly Call[]} calls the newest, oldest first
 * @property {Seconds} seconds
 * @property {Samples} samples what the process said of itself
 * @property {readonly LogEvent[]} log the newest, oldest first
 * @property {number} openedAt when the page began to count, in milliseconds since 1970
 * @property {Pulse} pulse of all offices
 * @property {(office: string) => Pulse | undefined} pulseOf of an office; `undefined` while it is quiet
 * @property {(calls: readonly PendingCall[]) => void} adopt adds the calls in flight that began before
 * anybody looked on
 * @property {(listener: () => void, signal: AbortSignal) => void} subscribe told at most once a frame, and
 * at first
 */

/**
 * Follows a Server; goes on where it was whenever the stream ends.
 *
 * @param {Api} api
 * @param {AbortSignal} signal
 * @returns {Live}
 */
export function createLive(api, signal) {
  /** @type {Live["state"]} */
  let state = "connecting";
  /** @type {string | undefined} */
  let problem;
  let lastId = "";
  let keys = 0;
  /** @type {Call[]} */
  let calls = [];
  /** Calls without an end, by what identifies them. @type {Map<string, Call>} */
  const pending = new Map();
  /** Calls whose beginning is not told, or not yet. @type {WeakSet<Call>} */
  const adopted = new WeakSet();
  /** @type {LogEvent[]} */
  let log = [];
  const seconds = new Seconds();
  const samples = new Samples();
  const openedAt = Date.now();
  const pulse = new Pulse();
  /** @type {Map<string, Pulse>} */
  const pulses = new Map();
  /** @type {Set<() => void>} */
  const listeners = new Set();
  let isDrawing = false;

  const changed = () => {
    if (isDrawing) return;
    isDrawing = true;
    const later = document.hidden ? setTimeout : requestAnimationFrame;
    later(() => {
      isDrawing = false;
      for (const listener of [...listeners]) listener();
    });
  };

  /** @param {Call} call */
  const add = (call) => {
    calls.push(call);
    if (calls.length <= MAX_KEPT + SLACK) return;
    for (const old of calls.slice(0, -MAX_KEPT)) {
      if (pending.get(idOf(old)) === old) pending.delete(idOf(old));
    }
    calls = calls.slice(-MAX_KEPT);
  };

  /** @param {string} office */
  const pulseFor = (office) => {
    const found = pulses.get(office) ?? new Pulse();
    pulses.delete(office);
    pulses.set(office, found);
    if (pulses.size > MAX_PULSES) {
      for (const [oldest] of pulses) {
        pulses.delete(oldest);
        break;
      }
    }
    return found;
  };

  /**
   * @param {string} event
   * @param {Readonly<Record<string, any>>} data
   */
  const take = (event, data) => {
    const at = Date.parse(data["at"]) || Date.now();
    if (event === "open") {
      if (!data["missed"]) return;
      pending.clear(); // whose ends may be among what was missed
      calls = calls.filter(({ endedAt }) => endedAt !== undefined);
    }
    const entry = { key: ++keys, at, event, data };
    log.push(entry);
    const ofOffice = data["office"] === undefined
      ? undefined
      : pulseFor(data["office"]);
    if (ofOffice) ofOffice.last = entry;
    if (log.length > MAX_KEPT + SLACK) log = log.slice(-MAX_KEPT);
    if (event === "call_began") {
      const call = callOf(++keys, at, data);
      const listed = pending.get(idOf(call));
      // The list of calls may be faster than the stream.
      if (listed && adopted.delete(listed)) {
        Object.assign(listed, { ...call, key: listed.key });
        return;
      }
      pending.set(idOf(call), call);
      add(call);
    } else if (event === "call_waiting") {
      const known = pending.get(idOf(callOf(0, at, data)));
      if (known) known.waiting = data["waiting"];
    } else if (event === "call_ended") {
      const ms = Number(data["ms"]);
      const ended = callOf(++keys, at - ms, data);
      const known = pending.get(idOf(ended));
      const call = known ?? ended;
      Object.assign(call, {
        endedAt: at,
        ms,
        outcome: outcomeText(data),
        bytes: data["bytes"],
        result: data["result"],
      });
      pending.delete(idOf(ended));
      if (!known) add(call);
      seconds.add(at, ms, outcomeText(data));
      const failed = hasFailed(String(data["outcome"]));
      pulse.add(at, failed);
      ofOffice?.add(at, failed);
    }
  };

  const follow = async () => {
    const response = await api.open(
      "events",
      lastId === "" ? {} : { "Last-Event-ID": lastId },
      signal,
    );
    if (!response.body) throw new TypeError("The stream is empty");
    for await (const events of readEvents(response.body)) {
      state = "open";
      problem = undefined;
      for (const { id, event, data } of events) {
        if (id !== "") lastId = id;
        take(event, JSON.parse(data));
      }
      changed();
    }
  };

  const run = async () => {
    let delay = RETRY_MS.first;
    while (!signal.aborted) {
      try {
        await follow();
        delay = RETRY_MS.first;
      } catch (error) {
        if (error instanceof ProblemError && error.status === 401) return;
        problem = error instanceof Error ? error.message : String(error);
      }
      if (signal.aborted) return;
      state = "lost";
      changed();
      await new Promise((resolve) => setTimeout(resolve, delay));
      delay = Math.min(2 * delay, RETRY_MS.most);
    }
  };
  void run();

  return {
    get state() {
      return state;
    },
    get problem() {
      return problem;
    },
    get calls() {
      return calls;
    },
    get log() {
      return log;
    },
    seconds,
    samples,
    openedAt,
    pulse,
    pulseOf: (office) => pulses.get(office),
    adopt: (listed) => {
      for (const each of listed) {
        const call = callOf(++keys, Date.now() - each.ms, each);
        const known = pending.get(idOf(call));
        if (known) {
          known.waiting = each.waiting ?? null;
          continue;
        }
        adopted.add(call);
        pending.set(idOf(call), call);
        add(call);
      }
      changed();
    },
    subscribe: (listener, until) => {
      listeners.add(listener);
      until.addEventListener("abort", () => listeners.delete(listener));
      listener();
    },
  };
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
const callOf = (key, beganAt, data) => ({
  key,
  office: data["office"],
  agent: data["agent"],
  computer: data["computer"],
  request: data["request"],
  ...(data["tool"] !== undefined && { tool: data["tool"] }),
  ...(data["waiting"] !== undefined && { waiting: data["waiting"] }),
  reqId: data["req_id"],
  beganAt,
  ...(data["event"] === "call_began" && {
    sentBytes: data["bytes"],
    params: data["params"],
  }),
});

/** How often a list is drawn at most: nobody reads faster, and clicks need a moment. */
const DRAW_MS = 250;

/**
 * Draws whenever the stream has said something, but not too often, and not while it is stopped.
 *
 * @param {Live} live
 * @param {AbortSignal} signal
 * @param {() => void} draw
 * @returns {HTMLElement} stops it, and lets it go on; it says so where the stream is lost
 */
export function drawing(live, signal, draw) {
  let isPaused = false;
  let isDue = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const state = h("span", { class: "muted", role: "status" });
  const now = () => {
    timer = undefined;
    const text = live.state === "open"
      ? isPaused ? "stopped" : "live"
      : `${live.state} …${live.problem ? ` ${live.problem}` : ""}`;
    if (state.textContent !== text) state.textContent = text;
    if (!isDue || isPaused) return;
    isDue = false;
    draw();
  };
  live.subscribe(() => {
    isDue = true;
    timer ??= setTimeout(now, DRAW_MS);
  }, signal);
  signal.addEventListener("abort", () => clearTimeout(timer));
  const button = h("button", {
    type: "button",
    "aria-pressed": "false",
    onClick: () => {
      isPaused = !isPaused;
      button.setAttribute("aria-pressed", String(isPaused));
      now();
    },
  }, "Stop");
  isDue = true;
  now();
  return h("span", { class: "actions" }, button, state);
}
