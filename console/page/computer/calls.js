// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Call } from "./live.js" */
import { fill, h, keyed } from "../kit/element.js";
import { empty } from "../kit/parts.js";
import { clock, durationText, hasFailed, runningText } from "../kit/text.js";
import { hashOf } from "../kit/page.js";

/** The most that are shown; a filter finds the others. */
const MAX_SHOWN = 200;
/** How often the duration of a running call is drawn. */
const TICK_MS = 1_000;

export const title = () => "Calls";

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { live, signal }) {
  const count = h("p", { class: "muted", role: "status" });
  const body = h("tbody");
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "tool, agent or outcome",
    onInput: () => draw(),
  });
  const axis = h("th", { scope: "col", class: "axis" }, "Timeline");
  const table = h(
    "table",
    { class: "cards calls", "aria-labelledby": "calls" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Tool", "Agent", "Began", "Outcome", "Time"].map((text) =>
          h("th", { scope: "col" }, text)
        ),
        axis,
      ),
    ),
    body,
  );
  const nothing = empty(
    "No call yet",
    "Calls of the Agent in this Computer's office are listed here as they begin.",
  );
  const draw = () => {
    /** @type {readonly Call[]} */
    const calls = live.calls.toReversed();
    const wanted = filter.value.toLowerCase();
    const found = calls.filter((call) =>
      `${call.tool}\n${call.agent}\n${outcomeOf(call)}`.toLowerCase()
        .includes(wanted)
    );
    nothing.hidden = calls.length > 0;
    table.hidden = !nothing.hidden;
    count.textContent = found.length > MAX_SHOWN
      ? `${found.length} calls, of which the latest ${MAX_SHOWN} are shown`
      : `${found.length} of ${calls.length} calls`;
    const shown = found.slice(0, MAX_SHOWN);
    const times = spanOf(shown);
    fill(
      axis,
      h("span", {}, clock.format(times.from)),
      " ",
      h("span", {}, clock.format(times.to)),
    );
    keyed(
      body,
      shown,
      {
        keyOf: ({ key }) => String(key),
        make: (call) => makeRow(call, times),
        update: (row, call) => updateRow(row, call, times),
      },
    );
  };
  fill(
    root,
    h("h1", { id: "calls" }, "Calls"),
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
      count,
    ),
    nothing,
    table,
  );
  live.subscribe(draw, signal);
  const timer = setInterval(() => {
    if (!document.hidden && live.calls.some(isRunning)) draw();
  }, TICK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** @param {Call} call */
const isRunning = ({ endedAt }) => endedAt === undefined;

/**
 * Returns the time that the timeline shows.
 *
 * @param {readonly Call[]} calls
 */
function spanOf(calls) {
  const now = Date.now();
  let from = now;
  let to = 0;
  for (const { beganAt, endedAt = now } of calls) {
    from = Math.min(from, beganAt);
    to = Math.max(to, endedAt);
  }
  return { from, to: Math.max(to, from + 1) };
}

/** The call that a row shows. @type {WeakMap<HTMLElement, Call>} */
const shownCalls = new WeakMap();

/**
 * @param {Call} call
 * @param {{ from: number, to: number }} times
 */
function makeRow(call, times) {
  const { key, tool, agent, beganAt } = call;
  const row = h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("a", { href: hashOf(["calls", String(key)]) }, h("bdi", {}, tool)),
    ),
    h("td", { "data-label": "Agent" }, h("bdi", {}, agent)),
    h("td", { "data-label": "Began", class: "number" }, clock.format(beganAt)),
    h("td", { "data-label": "Outcome" }),
    h("td", { "data-label": "Time", class: "number" }),
    h("td", { class: "timeline" }, h("span")),
  );
  updateRow(row, call, times);
  return row;
}

/**
 * Changes what can change; of a call that has ended, only where its bar is.
 *
 * @param {HTMLElement} row
 * @param {Call} call
 * @param {{ from: number, to: number }} times
 */
function updateRow(row, call, { from, to }) {
  const { beganAt, endedAt = Date.now() } = call;
  const [outcome, time, timeline] = [...row.children].slice(-3);
  const bar = timeline?.firstElementChild;
  if (!outcome || !time || !(bar instanceof HTMLElement)) return;
  if (shownCalls.get(row) !== call || isRunning(call)) {
    shownCalls.set(row, call);
    outcome.className = classOf(call);
    outcome.textContent = outcomeOf(call);
    const ms = call.ms ?? endedAt - beganAt;
    time.textContent = durationText(Math.max(0, ms));
    bar.className = `bar ${classOf(call)}`;
  }
  const width = to - from;
  bar.style.left = `min(${100 * (beganAt - from) / width}%, 100% - 3px)`;
  bar.style.width = `${100 * Math.max(0, endedAt - beganAt) / width}%`;
}

/**
 * Returns the look of a call's outcome.
 *
 * @param {Call} call
 */
export const classOf = ({ outcome }) =>
  outcome === undefined
    ? "warn"
    : outcome === "ok"
    ? "good"
    : hasFailed(outcome)
    ? "bad"
    : "muted";

/**
 * Says how a call ended, or how far it is.
 *
 * @param {Call} call
 */
export function outcomeOf({ outcome, progress, waiting }) {
  if (outcome !== undefined) return outcome;
  if (waiting || !progress) return runningText({ waiting });
  const { progress: done, total, message } = progress;
  const far = total === undefined ? `${done}` : `${done} of ${total}`;
  return `running, ${far}${message === undefined ? "" : ` ${message}`}`;
}
