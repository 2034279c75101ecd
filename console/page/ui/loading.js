// @ts-check
/// <reference lib="dom" />
import { ProblemError } from "../data/api.js";
import { h } from "./element.js";

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
