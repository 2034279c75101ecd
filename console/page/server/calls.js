// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
/** @import { Context } from "../kit/page.js" */
/** @import { Call } from "./live.js" */
import { fill, h, keyed } from "../kit/element.js";
import { hashOf } from "../kit/page.js";
import { empty, loading, notify } from "../kit/parts.js";
import {
  bytesText,
  clock,
  durationText,
  hasFailed,
  runningText,
} from "../kit/text.js";
import { drawing } from "./live.js";
import { askReason } from "./dialog.js";
import { officeHead } from "./office.js";

/** The most that are shown; a filter finds the others. */
const MAX_SHOWN = 100;
/** How often calls in flight are read, of which the page may have missed the beginning. */
const RELOAD_MS = 5000;

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ office }) =>
  office === undefined ? "Calls" : `Calls of ${office}`;

/**
 * Shows the calls of an office, or of all, as a timeline.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal, params: { office } }) {
  const problems = h("div");
  const count = h("p", { class: "muted", role: "status" });
  const body = h("tbody");
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "tool, member or outcome",
    onInput: () => draw(),
  });
  const axis = h("th", { scope: "col", class: "axis" }, "Timeline");
  const table = h(
    "table",
    { class: "cards calls", "aria-label": "Calls" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        HEADS.map((text) => h("th", { scope: "col" }, text)),
        axis,
        h("td"),
      ),
    ),
    body,
  );
  const nothing = empty(
    "No call yet",
    "Calls are listed as they begin, from when this page was opened; those of before are not recorded.",
    "To see one now, try a tool: choose an office, a Computer in it, and a tool.",
  );
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    /** @type {Call[]} */
    const calls = live.calls.filter((/** @type {Call} */ call) =>
      office === undefined || call.office === office
    );
    const found = calls.filter((call) => textOf(call).includes(wanted));
    const shown = found.slice(-MAX_SHOWN).reverse();
    count.textContent = found.length > MAX_SHOWN
      ? `${found.length} calls, of which the latest ${MAX_SHOWN} are shown`
      : `${found.length} of ${calls.length} calls`;
    nothing.hidden = calls.length > 0;
    table.hidden = count.hidden = !nothing.hidden;
    const span = spanOf(shown);
    fill(
      axis,
      h("span", {}, clock.format(span.from)),
      " ",
      h("span", {}, clock.format(span.to)),
    );
    keyed(
      body,
      shown,
      {
        keyOf: ({ key }) => String(key),
        make: (call) => update(makeRow(call, api), call, span),
        update: (row, call) => void update(row, call, span),
      },
    );
  };
  fill(
    root,
    office === undefined ? h("h1", {}, "Calls") : officeHead(office, "calls"),
    problems,
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
      drawing(live, signal, draw),
      count,
    ),
    nothing,
    table,
  );

  const ticking = setInterval(() => {
    const isRunning = (/** @type {Call} */ call) => call.endedAt === undefined;
    if (!document.hidden && live.calls.some(isRunning)) draw();
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(ticking));
  if (office === undefined) return;
  loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: () => api.get(`offices/${encodeURIComponent(office)}/calls`, signal),
    show: ({ calls }) => live.adopt(calls),
  });
}

const HEADS = [
  "Call",
  "Office",
  "Agent",
  "Computer",
  "Began",
  "Outcome",
  "Time",
  "Sent",
  "Answer",
];

/** @param {Call} call */
const textOf = (call) =>
  [
    nameOf(call),
    call.office,
    call.agent,
    call.computer,
    stateOf(call),
  ].join("\n").toLowerCase();

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

/**
 * @param {Call} call
 * @param {Context["api"]} api
 */
const makeRow = (call, api) =>
  h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h(
        "a",
        { href: hashOf(["calls", String(call.key)]) },
        h("bdi", {}, nameOf(call)),
      ),
    ),
    h("td", { "data-label": "Office" }, h("bdi", {}, call.office)),
    h("td", { "data-label": "Agent" }, h("bdi", {}, call.agent)),
    h("td", { "data-label": "Computer" }, h("bdi", {}, call.computer)),
    h(
      "td",
      { "data-label": "Began", class: "number" },
      clock.format(call.beganAt),
    ),
    h("td", { "data-label": "Outcome" }),
    h("td", { "data-label": "Time", class: "number" }),
    h(
      "td",
      { "data-label": "Sent", class: "number" },
      call.sentBytes === undefined ? "–" : bytesText(call.sentBytes),
    ),
    h("td", { "data-label": "Answer", class: "number" }),
    h("td", { class: "timeline" }, h("span")),
    h(
      "td",
      { class: "actions" },
      call.endedAt === undefined && cancelButton(call, api),
    ),
  );

/**
 * Changes what can change.
 *
 * @param {HTMLElement} row
 * @param {Call} call
 * @param {{ from: number, to: number }} span
 */
function update(row, call, { from, to }) {
  const { beganAt, endedAt = Date.now(), outcome } = call;
  const [said, time, , answer, timeline, actions] = [...row.children].slice(-6);
  const bar = timeline?.firstElementChild;
  if (!said || !time || !answer || !actions || !(bar instanceof HTMLElement)) {
    return row;
  }
  if (row.dataset["outcome"] !== outcome || outcome === undefined) {
    if (outcome !== undefined) {
      row.dataset["outcome"] = outcome;
      actions.replaceChildren();
      answer.textContent = call.bytes === undefined
        ? "–"
        : bytesText(call.bytes);
    }
    said.className = classOf(call);
    said.textContent = stateOf(call);
    bar.className = `bar ${classOf(call)}`;
    time.textContent = durationText(Math.max(0, call.ms ?? endedAt - beganAt));
  }
  const width = to - from;
  bar.style.left = `min(${100 * (beganAt - from) / width}%, 100% - 3px)`;
  bar.style.width = `${100 * Math.max(0, endedAt - beganAt) / width}%`;
  return row;
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
 * Says how a call ended, or what it does.
 *
 * @param {Call} call
 */
export const stateOf = (call) => call.outcome ?? runningText(call);

/**
 * Names a call: its tool, or what it asks otherwise.
 *
 * @param {Call} call
 */
export const nameOf = ({ tool, request }) =>
  tool ?? request.replace(/^client:/, "");

/**
 * Makes a button that ends a call for its Agent.
 *
 * @param {Call} call
 * @param {Api} api
 */
export const cancelButton = (call, api) =>
  h("button", {
    type: "button",
    "aria-label": `Cancel… ${nameOf(call)}`,
    onClick: () => cancel(call, api),
  }, "Cancel…");

/**
 * @param {Call} call
 * @param {Api} api
 */
async function cancel(call, api) {
  const { office, reqId } = call;
  const reason = await askReason({
    title: `Cancel ${nameOf(call)} of ${call.agent}`,
    action: "Cancel the call",
  });
  if (reason === undefined) return;
  try {
    const path = `offices/${encodeURIComponent(office)}/calls/cancel`;
    await api.post(path, { req_id: reqId, reason });
    notify(`${nameOf(call)} was cancelled.`);
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), "error");
  }
}
