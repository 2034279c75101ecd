// @ts-check
/// <reference lib="dom" />
/** @import { Bar } from "../server/counts.js" */
/** @import { Child } from "./element.js" */
/** @import { Tone } from "../server/log.js" */
import { PULSE_MINUTES } from "../server/counts.js";
import { ProblemError } from "./api.js";
import { h, svg } from "./element.js";

/**
 * Makes a state: a dot, and its word.
 *
 * @param {Tone} tone
 * @param {string} text
 */
export const pill = (tone, text) => h("span", { class: `pill ${tone}` }, text);

/**
 * Makes a list of figures, large enough to be read from afar.
 *
 * @param {...(HTMLElement | false | undefined)} tiles
 */
export const tileList = (...tiles) => h("dl", { class: "tiles" }, tiles);

/**
 * Makes a figure of such a list.
 *
 * @param {string} label
 * @param {Child} value
 * @param {Child} [more] smaller, below it
 */
export const tile = (label, value, more) =>
  h(
    "div",
    {},
    h("dt", {}, label),
    h("dd", {}, h("b", {}, h("bdi", {}, value)), more),
  );

/**
 * Says that there is nothing, and what to do next.
 *
 * @param {string} title
 * @param {...Child} more sentences
 */
export const empty = (title, ...more) =>
  h(
    "div",
    { class: "empty" },
    h("span", { class: "mark" }),
    h("h2", {}, title),
    more.map((each) => each instanceof HTMLElement ? each : h("p", {}, each)),
  );

/**
 * Shows a command that can be copied.
 *
 * @param {string} text
 */
export const command = (text) =>
  h("pre", { tabIndex: 0, role: "region", "aria-label": "Command" }, text);

/**
 * Draws the calls of the last minutes; those that failed in another colour.
 *
 * @param {readonly Bar[]} bars oldest first
 */
export function sparkline(bars) {
  const most = Math.max(1, ...bars.map(({ calls }) => calls));
  /** Even one is seen. @param {(bar: Bar) => number} of @param {number} least */
  const path = (of, least) =>
    bars.map((bar, i) => {
      const height = Math.max(
        of(bar) && least,
        Math.round(22 * of(bar) / most),
      );
      return height === 0 ? "" : `M${2 * i} 24v-${height}h1.5v${height}z`;
    }).join("");
  const { calls, failed } = totalOf(bars);
  const count = calls === 0
    ? "no call"
    : calls === 1
    ? "1 call"
    : `${calls} calls`;
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${2 * bars.length} 24`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${count} in the last ${PULSE_MINUTES} minutes${
        failed > 0 ? `, ${failed} failed` : ""
      }`,
    },
    svg("path", { class: "calls", d: path((bar) => bar.calls, 2) }),
    svg("path", { class: "failed", d: path((bar) => bar.failed, 5) }),
  );
}

/** @param {readonly Bar[]} bars @returns {Bar} */
export const totalOf = (bars) =>
  bars.reduce((all, { calls, failed }) => ({
    calls: all.calls + calls,
    failed: all.failed + failed,
  }), { calls: 0, failed: 0 });

/**
 * Loads something now and again and again, and shows what is wrong where that fails.
 *
 * @template Value
 * @param {object} about
 * @param {HTMLElement} about.problems where problems are shown
 * @param {AbortSignal} about.signal ends it
 * @param {() => Promise<Value>} about.load
 * @param {(value: Value) => void} about.show
 * @param {number} [about.everyMs] while the page is visible; never again without it
 * @returns {() => Promise<void>} loads at once
 */
export function loading({ problems, signal, load, show, everyMs }) {
  /** @type {Promise<void> | undefined} */
  let running;
  const once = async () => {
    try {
      const value = await load();
      if (signal.aborted) return;
      problems.replaceChildren(...missing(value));
      show(value);
    } catch (error) {
      if (!signal.aborted) problems.replaceChildren(problem(error));
    }
  };
  const now = () => running ??= once().finally(() => running = undefined);
  if (everyMs !== undefined) {
    const timer = setInterval(() => document.hidden || void now(), everyMs);
    signal.addEventListener("abort", () => clearInterval(timer));
  }
  void now();
  return now;
}

/**
 * Says of which nodes of a cluster nothing is known now.
 *
 * @param {any} value an answer of the API
 */
const missing = (value) => {
  /** @type {readonly (readonly [readonly string[] | undefined, (nodes: string) => string])[]} */
  const kinds = [
    [value?.unanswered, (nodes) => `No answer came from ${nodes}`],
    [
      value?.not_operated,
      (nodes) => `Started with --no-operator: ${nodes}`,
    ],
  ];
  return kinds.flatMap(([nodes = [], said]) =>
    nodes.length === 0 ? [] : [problem(
      `${said(nodes.join(", "))}: what is on ${
        nodes.length > 1 ? "these nodes" : "this node"
      } is missing.`,
    )]
  );
};

/**
 * Shows an error.
 *
 * @param {unknown} error
 */
export const problem = (error) =>
  h(
    "p",
    { class: "problem", role: "alert" },
    error instanceof ProblemError || error instanceof Error
      ? error.message
      : String(error),
  );

const SHOWN_MS = 8000;
const MAX_SHOWN = 4;

/**
 * Tells what has happened, to screen readers too.
 *
 * @param {string} text
 * @param {"ok" | "error"} [kind]
 */
export function notify(text, kind = "ok") {
  const region = document.getElementById("notices");
  if (!region) return;
  const notice = h(
    "p",
    { class: `notice ${kind}` },
    text,
    h("button", {
      type: "button",
      class: "plain",
      "aria-label": "Dismiss",
      onClick: () => notice.remove(),
    }, "×"),
  );
  region.append(notice);
  while (region.children.length > MAX_SHOWN) region.firstElementChild?.remove();
  if (kind === "ok") setTimeout(() => notice.remove(), SHOWN_MS);
}
