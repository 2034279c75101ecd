// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
/** @import { Tool } from "./computer.js" */
/** @import { ServerLive } from "./live.js" */
import { button, fill, h } from "../kit/element.js";
import { inline, plainForm } from "../kit/fields.js";
import { createForm } from "./form.js";
import { folded, problem } from "../kit/parts.js";
import { jsonView, resultView } from "../kit/result.js";
import { durationText, runningText } from "../kit/text.js";

const TICK_MS = 100;
/** The most results that are kept on the page. */
const MAX_RESULTS = 10;
const DEFAULT_SECONDS = 60;

/**
 * A tool, and how it is called.
 * @typedef {{ api: Api, live: ServerLive, path: string, tool: Tool, signal: AbortSignal }} Tried
 */

/**
 * Makes the panel in which a tool is tried: a form, and the results, newest first.
 *
 * @param {Tried} tried
 * @returns {HTMLElement}
 */
export function tryTool(tried) {
  const { tool } = tried;
  const form = createForm(tool.params_schema);
  const problems = h("div");
  const results = h("div.results");
  const seconds = h("input", {
    type: "number",
    id: "timeout",
    min: "1",
    max: "3600",
    required: true,
    value: String(DEFAULT_SECONDS),
  });
  const call = h("button.primary", { type: "submit" }, "Call");
  const submit = () => {
    try {
      const params = form.read();
      const timeoutMs = Math.round(Number(seconds.value) * 1000);
      problems.replaceChildren();
      results.prepend(callOnce(tried, params, timeoutMs));
      while (results.children.length > MAX_RESULTS) {
        results.lastElementChild?.remove();
      }
    } catch (error) {
      fill(problems, problem(error));
    }
  };
  return h(
    "div",
    h("h3", { tabIndex: -1 }, h("bdi", tool.title ?? tool.name)),
    tool.description && h("p.description", h("bdi", tool.description)),
    plainForm(
      { noValidate: true },
      submit,
      form.element,
      inline("Seconds it may take", seconds),
      problems,
      h("p.actions", call),
    ),
    results,
    folded("Schema of the arguments", jsonView(tool.params_schema)),
    tool.meta && folded("Metadata", jsonView(tool.meta)),
  );
}

/**
 * Calls a tool, and shows how that goes.
 *
 * @param {Tried} tried
 * @param {unknown} params
 * @param {number} timeoutMs
 * @returns {HTMLElement}
 */
function callOnce({ api, live, path, tool, signal }, params, timeoutMs) {
  // Not randomUUID(), which pages over plain HTTP lack.
  const reqId = crypto.getRandomValues(new Uint32Array(4)).join("-");
  const stop = new AbortController();
  const state = h("span", { role: "status" }, "running");
  const cancel = button("Cancel", () => stop.abort());
  const body = h("div");
  const began = performance.now();
  const elapsed = () => durationText(performance.now() - began);
  const clock = h("span.muted.number");
  const timer = setInterval(() => clock.textContent = elapsed(), TICK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  const ended = new AbortController();
  const end = (/** @type {string} */ text, /** @type {string} */ kind) => {
    clearInterval(timer);
    ended.abort();
    cancel.remove();
    clock.textContent = elapsed();
    state.textContent = text;
    state.className = kind;
  };
  live.subscribe(() => {
    const call = live.calls.findLast((each) => each.reqId === reqId);
    if (call) state.textContent = runningText(call);
  }, AbortSignal.any([signal, ended.signal]));
  const run = async () => {
    try {
      const result = await api.post(`${path}/call`, {
        tool_name: tool.name,
        params,
        timeout_ms: timeoutMs,
        req_id: reqId,
      }, AbortSignal.any([signal, stop.signal]));
      const isError = result.isError === true;
      end(isError ? "failed" : "done", isError ? "bad" : "good");
      fill(body, resultView(result, signal));
    } catch (error) {
      if (signal.aborted) return;
      end(stop.signal.aborted ? "cancelled" : "refused", "bad");
      if (!stop.signal.aborted) fill(body, problem(error));
    }
  };
  void run();
  return h(
    "article.call",
    h("header", h("strong", h("bdi", tool.name)), state, clock, cancel),
    folded("Arguments", jsonView(params)),
    body,
  );
}
