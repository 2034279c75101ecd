// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Call } from "./live.js" */
import { fill, h } from "../kit/element.js";
import { bytesText, durationText } from "../kit/text.js";
import { cancelButton, classOf, nameOf, stateOf } from "./calls.js";

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ key = "" }) => `Call ${key}`;

/**
 * Shows one call, with its contents where the Server shows them.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal, params: { key = "" } }) {
  const content = h("div");
  fill(
    root,
    h("p", { class: "path" }, h("a", { href: "#/calls" }, "Calls"), " ›"),
    content,
  );
  /** @type {string | undefined} */
  let drawn;
  const find = () =>
    live.calls.find((/** @type {Call} */ each) => String(each.key) === key);
  live.subscribe(() => {
    /** @type {Call | undefined} */
    const call = find();
    const state = call ? stateOf(call) : "none";
    if (state === drawn || (call === undefined && drawn !== undefined)) return;
    drawn = state;
    fill(content, call ? partsOf(call, api) : nothing());
  }, signal);
}

const nothing = () => [
  h("h1", {}, "A call"),
  h("p", {}, "This page has not seen it, or does not keep it any more."),
];

/**
 * @param {Call} call
 * @param {Context["api"]} api
 */
function partsOf(call, api) {
  const facts = [
    ["Office", call.office],
    ["Agent", call.agent],
    ["Computer", call.computer],
    ["Request", `${call.request}, ${call.reqId}`],
    ["Began", new Date(call.beganAt).toLocaleString()],
    [
      "Outcome",
      h("span", { class: classOf(call) }, stateOf(call)),
    ],
    ["Time", call.ms === undefined ? "–" : durationText(call.ms)],
    ["Sent", call.sentBytes === undefined ? "–" : bytesText(call.sentBytes)],
    ["Answer", call.bytes === undefined ? "–" : bytesText(call.bytes)],
  ];
  return [
    h("h1", {}, h("bdi", {}, nameOf(call))),
    h(
      "dl",
      { class: "facts" },
      facts.map(([term, value]) =>
        h("div", {}, h("dt", {}, term), h("dd", {}, h("bdi", {}, value)))
      ),
    ),
    call.outcome === undefined && h("p", {}, cancelButton(call, api)),
    h("h2", {}, "Arguments"),
    json(call.params, "Arguments"),
    call.outcome !== undefined &&
    [h("h2", {}, "Result"), json(call.result, "Result")],
  ].flat();
}

/**
 * @param {unknown} value
 * @param {string} label
 */
const json = (value, label) =>
  value === undefined
    ? h(
      "p",
      { class: "muted" },
      "Not shown: the Server shows contents with --audit-payloads, up to 16 KiB each.",
    )
    : h(
      "pre",
      { tabIndex: 0, role: "region", "aria-label": label },
      JSON.stringify(value, undefined, 2),
    );
