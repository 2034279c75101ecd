// @ts-check
/// <reference lib="dom" />
/*
 * The calls of both pages: a table with a timeline, of which rows change only until their calls have
 * ended; then only their bars move.
 */
/** @import { Child } from "./element.js" */
/** @import { Column } from "./list.js" */
/** @import { AnyCall } from "./text.js" */
import { fill, h, link, renew } from "./element.js";
import { createList, dataTable, tableRow } from "./list.js";
import { every } from "./parts.js";
import { clock, durationText, hasFailed, runningText } from "./text.js";

/** How often the duration of a running call is drawn. */
const TICK_MS = 1_000;

/**
 * Returns the look of a call's outcome.
 *
 * @param {AnyCall} call
 */
export const callTone = ({ outcome }) =>
  outcome === undefined
    ? "warn"
    : outcome === "ok"
    ? "good"
    : hasFailed(outcome)
    ? "bad"
    : "muted";

/**
 * Returns how a call ended, or how far it is.
 *
 * @param {AnyCall} call
 * @param {number} [now] as of `Date.now()`, for how long it waits
 */
export function callState({ outcome, progress, waiting, waitingSince }, now) {
  if (outcome !== undefined) return outcome;
  if (waiting || !progress) return runningText({ waiting, waitingSince }, now);
  const { progress: done, total, message } = progress;
  const far = total === undefined ? `${done}` : `${done} of ${total}`;
  return `running, ${far}${message === undefined ? "" : ` ${message}`}`;
}

/** When a call began, how it ended, and how long it took. @type {readonly Column<AnyCall>[]} */
export const PROCESS = [
  ["Began", ({ beganAt }) => clock.format(beganAt), "number"],
  ["Outcome", (call) => callState(call, Date.now()), callTone],
  [
    "Time",
    ({ ms, beganAt, endedAt = Date.now() }) =>
      durationText(Math.max(0, ms ?? endedAt - beganAt)),
    "number",
  ],
];

/**
 * Makes a list of calls, with a timeline.
 *
 * @template {AnyCall} Call
 * @param {object} about
 * @param {{ readonly calls: readonly Call[] }} about.live calls, oldest first
 * @param {AbortSignal} about.signal
 * @param {(call: Call) => boolean} [about.isMeant] default all
 * @param {number} about.most that are shown
 * @param {string} about.placeholder of the filter
 * @param {readonly [Column<Call>, ...Column<Call>[]]} about.columns the first leads to the call
 * @param {(call: Call) => Child} [about.action] of a running call
 * @param {HTMLElement} about.nothing is shown while there is no call
 */
export function createCalls(about) {
  const { live, signal, isMeant = () => true, most, placeholder } = about;
  const { columns: [[head, nameOf], ...columns] } = about;
  const { action, nothing } = about;
  const body = h("tbody");
  const axis = h("th.axis", { scope: "col" }, "Timeline");
  const table = dataTable(
    { class: "cards calls", "aria-label": "Calls" },
    [head, ...columns, axis, ...action ? [h("td")] : []],
    body,
  );
  /** Rows of calls that have ended: only their bars move. @type {WeakSet<HTMLElement>} */
  const ended = new WeakSet();
  /** @param {Call} call */
  const make = (call) => {
    const row = tableRow(
      link(["calls", String(call.key)], String(nameOf(call))),
      columns,
      call,
      h("td.timeline", h("span", { class: `bar ${callTone(call)}` })),
      action && h("td.actions", isRunning(call) && action(call)),
    );
    if (!isRunning(call)) ended.add(row);
    return row;
  };
  const words = columns.filter(([, , look]) => look !== "number");
  const list = createList({
    noun: "calls",
    which: "latest",
    placeholder,
    most,
    body,
    nothing,
    whole: table,
    make,
    items: () => live.calls.filter(isMeant).toReversed(),
    searchText: (call) =>
      [nameOf(call), ...words.map(([, value]) => value(call))].join("\n"),
    itemKey: ({ key }) => String(key),
    update: (row, call) => {
      if (ended.has(row)) return;
      renew(row, make(call));
      if (!isRunning(call)) ended.add(row);
    },
    drawn: (calls) => drawTimeline(axis, body, calls),
  });
  every(TICK_MS, signal, () => live.calls.some(isRunning) && list.draw());
  return { ...list, table };
}

/** @param {AnyCall} call */
const isRunning = ({ endedAt }) => endedAt === undefined;

/**
 * Writes the times of the axis, and moves the bars of the rows.
 *
 * @param {HTMLElement} axis
 * @param {HTMLElement} body
 * @param {readonly AnyCall[]} calls of its rows
 */
function drawTimeline(axis, body, calls) {
  const span = timeSpan(calls);
  fill(
    axis,
    h("span", clock.format(span.from)),
    " ",
    h("span", clock.format(span.to)),
  );
  for (const [i, call] of calls.entries()) {
    const bar = body.children[i]?.querySelector(".bar");
    if (bar instanceof HTMLElement) place(bar, call, span);
  }
}

/**
 * Returns the time that the timeline shows.
 *
 * @param {readonly AnyCall[]} calls
 */
function timeSpan(calls) {
  const now = Date.now();
  let from = now;
  let to = 0;
  for (const { beganAt, endedAt = now } of calls) {
    from = Math.min(from, beganAt);
    to = Math.max(to, endedAt);
  }
  return { from, to: Math.max(to, from + 1) };
}

/**
 * @param {HTMLElement} bar
 * @param {AnyCall} call
 * @param {{ from: number, to: number }} span
 */
function place(bar, { beganAt, endedAt = Date.now() }, { from, to }) {
  const width = to - from;
  bar.style.left = `min(${100 * (beganAt - from) / width}%, 100% - 3px)`;
  bar.style.width = `${100 * Math.max(0, endedAt - beganAt) / width}%`;
}
