// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Call } from "./live.js" */
import { fill, h } from "../kit/element.js";
import { problem } from "../kit/parts.js";
import { resultView } from "../kit/result.js";
import { durationText } from "../kit/text.js";
import { classOf, outcomeOf } from "./calls.js";

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ key = "" }) => `Call ${key}`;

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal, params: { key = "" } }) {
  const about = h("dl", { class: "facts" });
  const content = h("div");
  const name = h("bdi");
  fill(
    root,
    h("p", { class: "path" }, h("a", { href: "#/calls" }, "Calls"), " › "),
    h("h1", {}, name),
    about,
    content,
  );
  /** @type {string | undefined} */
  let loaded;
  live.subscribe(() => {
    /** @type {Call | undefined} */
    const call = live.calls.find((/** @type {Call} */ each) =>
      String(each.key) === key
    );
    if (!call) {
      if (live.computer) fill(about, h("p", {}, "It is not listed any more."));
      return;
    }
    name.textContent = call.tool;
    draw(about, call);
    if (loaded === outcomeOf(call)) return;
    const isNew = loaded === undefined || call.outcome !== undefined;
    loaded = outcomeOf(call);
    if (isNew) void load(content, api.get(`calls/${key}`, signal), signal);
  }, signal);
}

/**
 * @param {HTMLElement} about
 * @param {Call} call
 */
function draw(about, call) {
  const { agent, reqId, beganAt, ms } = call;
  const facts = [
    ["Agent", agent],
    ["Request", reqId],
    ["Began", new Date(beganAt).toLocaleString()],
    ["Outcome", h("span", { class: classOf(call) }, outcomeOf(call))],
    ...ms === undefined ? [] : [["Time", durationText(ms)]],
    ...call.code === undefined ? [] : [["Code", String(call.code)]],
  ];
  fill(
    about,
    facts.map(([term, value]) =>
      h("div", {}, h("dt", {}, term), h("dd", {}, h("bdi", {}, value)))
    ),
  );
}

/**
 * @param {HTMLElement} content
 * @param {Promise<{ params: unknown, result?: unknown, isClipped: boolean }>} answer
 * @param {AbortSignal} signal
 */
async function load(content, answer, signal) {
  try {
    const { params, result, isClipped } = await answer;
    fill(
      content,
      isClipped &&
        h("p", { class: "warn" }, "It is larger than what is kept of it."),
      h("h2", {}, "Arguments"),
      json(params, "Arguments"),
      result !== undefined && [
        h("h2", {}, "Result"),
        h(
          "div",
          { role: "region", "aria-label": "Result" },
          isClipped ? json(result, "Result as JSON") : [
            resultView(result, signal),
            h(
              "details",
              {},
              h("summary", {}, "As JSON"),
              json(result, "Result as JSON"),
            ),
          ],
        ),
      ],
    );
  } catch (error) {
    if (!signal.aborted) fill(content, problem(error));
  }
}

/**
 * @param {unknown} value
 * @param {string} label
 */
const json = (value, label) =>
  h(
    "pre",
    { tabIndex: 0, role: "region", "aria-label": label },
    JSON.stringify(value, undefined, 2),
  );
