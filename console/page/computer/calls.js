// @ts-check
/// <reference lib="dom" />
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { Call, ComputerLive } from "./live.js" */
import { callState, callTone, createCalls, PROCESS } from "../kit/calls.js";
import { fill, h, link } from "../kit/element.js";
import {
  breadcrumbs,
  empty,
  factRows,
  folded,
  jsonText,
  problem,
} from "../kit/parts.js";
import { resultView } from "../kit/result.js";
import { durationText } from "../kit/text.js";

/** @type {readonly [Column<Call>, ...Column<Call>[]]} */
const COLUMNS = [
  ["Tool", ({ tool }) => tool],
  ["Agent", ({ agent }) => agent],
  ...PROCESS,
];

/** The calls of the Computer. @type {View<ComputerLive>} */
export const calls = {
  title: () => "Calls",
  show: (root, { live, signal }) => {
    const nothing = empty(
      "No call yet",
      "Calls of the Agent in this Computer's office are listed here as they begin.",
    );
    const { bar, table, draw } = createCalls({
      live,
      signal,
      nothing,
      most: 200,
      placeholder: "tool, agent or outcome",
      columns: COLUMNS,
    });
    fill(root, h("h1", "Calls"), bar(), nothing, table);
    live.subscribe(draw, signal);
  },
};

/** One call, with its contents. @type {View<ComputerLive>} */
export const call = {
  title: ({ key = "" }) => `Call ${key}`,
  show: (root, { api, live, signal, params: { key = "" } }) => {
    const about = h("dl.facts");
    const content = h("div");
    const name = h("bdi");
    fill(
      root,
      breadcrumbs(link(["calls"], "Calls")),
      h("h1", name),
      about,
      content,
    );
    /** @type {string | undefined} */
    let loaded;
    live.subscribe(() => {
      const call = live.calls.find((each) => String(each.key) === key);
      if (!call) {
        if (live.computer) fill(about, h("p", "It is not listed any more."));
        return;
      }
      const { tool, agent, reqId, beganAt, ms, code, outcome } = call;
      fill(name, tool);
      fill(
        about,
        factRows([
          ["Agent", agent],
          ["Request", reqId],
          ["Began", new Date(beganAt).toLocaleString()],
          ["Outcome", h("span", { class: callTone(call) }, callState(call))],
        ]),
        ms !== undefined && factRows([["Time", durationText(ms)]]),
        code !== undefined && factRows([["Code", code]]),
      );
      if (loaded === callState(call)) return;
      const isNew = loaded === undefined || outcome !== undefined;
      loaded = callState(call);
      if (isNew) void load(content, api.get(`calls/${key}`, signal), signal);
    }, signal);
  },
};

/**
 * @param {HTMLElement} content
 * @param {Promise<{ params: unknown, result?: unknown, isClipped: boolean }>} answer
 * @param {AbortSignal} signal
 */
async function load(content, answer, signal) {
  try {
    const { params, result, isClipped } = await answer;
    const json = result === undefined
      ? undefined
      : jsonText(result, "Result as JSON");
    fill(
      content,
      isClipped && h("p.warn", "Cut, as it is too large to be kept."),
      h("h2", "Arguments"),
      jsonText(params, "Arguments"),
      json && [
        h("h2", "Result"),
        h(
          "div",
          { role: "region", "aria-label": "Result" },
          isClipped ? json : [
            resultView(result, signal),
            folded("As JSON", json),
          ],
        ),
      ],
    );
  } catch (error) {
    if (!signal.aborted) fill(content, problem(error));
  }
}
