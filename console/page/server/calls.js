// @ts-check
/// <reference lib="dom" />
/** @import { Api } from "../kit/api.js" */
/** @import { Child } from "../kit/element.js" */
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { Call } from "./call_table.js" */
/** @import { ServerLive } from "./live.js" */
import { callState, callTone, createCalls, PROCESS } from "../kit/calls.js";
import { buttonFor, fill, h, link } from "../kit/element.js";
import {
  attempt,
  breadcrumbs,
  empty,
  factRows,
  jsonText,
  loading,
} from "../kit/parts.js";
import { bytesText, durationText } from "../kit/text.js";
import { askReason } from "./dialog.js";
import { drawing } from "./live.js";
import { officeHead } from "./office.js";

/** How often the calls in flight are read: the stream lacks those from before the page was opened. */
const RELOAD_MS = 5000;

/** @type {readonly [Column<Call>, ...Column<Call>[]]} */
const COLUMNS = [
  ["Call", (call) => callName(call)],
  ["Office", ({ office }) => office],
  ["Agent", ({ agent }) => agent],
  ["Computer", ({ computer }) => computer],
  ...PROCESS,
  ["Sent", ({ sentBytes }) => sizeText(sentBytes), "number"],
  ["Answer", ({ bytes }) => sizeText(bytes), "number"],
];

/** The calls of an office, or of all. @type {View<ServerLive>} */
export const calls = {
  title: ({ office }) => office === undefined ? "Calls" : `Calls of ${office}`,
  show: (root, { api, live, signal, params: { office } }) => {
    const problems = h("div");
    const nothing = empty(
      "No calls yet",
      "Calls in flight are listed, and those that begin while this page is open; those that ended before are not recorded.",
      "To see one now, try a tool: choose an office, a Computer in it, and a tool.",
    );
    const { bar, table, draw } = createCalls({
      live,
      signal,
      nothing,
      isMeant: (call) => office === undefined || call.office === office,
      most: 100,
      placeholder: "tool, member or outcome",
      columns: COLUMNS,
      action: (call) => cancelButton(call, api),
    });
    fill(
      root,
      office === undefined ? h("h1", "Calls") : officeHead(office, "calls"),
      problems,
      bar(drawing(live, signal, draw)),
      nothing,
      table,
    );
    const path = office === undefined
      ? "calls"
      : `offices/${encodeURIComponent(office)}/calls`;
    loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: async () => {
        const { lastKey } = live;
        return { ...await api.get(path, signal), lastKey };
      },
      show: (list) => live.adopt(list, office),
    });
  },
};

/** One call, with its contents where the Server shows them. @type {View<ServerLive>} */
export const call = {
  title: ({ key = "" }) => `Call ${key}`,
  show: (root, { api, live, signal, params: { key = "" } }) => {
    const content = h("div");
    fill(root, breadcrumbs(link(["calls"], "Calls")), content);
    /** @type {string | undefined} */
    let drawn;
    live.subscribe(() => {
      const call = live.calls.find((each) => String(each.key) === key);
      const state = call ? callState(call) : "none";
      if (state === drawn || (!call && drawn !== undefined)) return;
      drawn = state;
      fill(
        content,
        call ? callView(call, api) : [
          h("h1", "A call"),
          h("p", "Unknown to this page, or not kept any longer."),
        ],
      );
    }, signal);
  },
};

/**
 * Whom a call waits for, and since when: only they can answer.
 *
 * @param {Call} call
 * @returns {[string, Child][]}
 */
const waitRows = ({ computer, outcome, waiting, waitingSince }) =>
  outcome !== undefined || !waiting ? [] : [[
    "Waits for",
    h(
      "span",
      "the person at ",
      h("bdi", computer),
      waitingSince === undefined
        ? ""
        : `, since ${new Date(waitingSince).toLocaleString()}`,
    ),
  ]];

/**
 * @param {Call} call
 * @param {Api} api
 */
const callView = (call, api) => [
  h("h1", h("bdi", callName(call))),
  h(
    "dl.facts",
    factRows([
      ["Office", call.office],
      ["Agent", call.agent],
      ["Computer", call.computer],
      ["Request", `${call.request}, ${call.reqId}`],
      ["Began", new Date(call.beganAt).toLocaleString()],
      ["Outcome", h("span", { class: callTone(call) }, callState(call))],
      ...waitRows(call),
      ["Time", call.ms === undefined ? "–" : durationText(call.ms)],
      ["Sent", sizeText(call.sentBytes)],
      ["Answer", sizeText(call.bytes)],
    ]),
  ),
  call.outcome === undefined && h("p", cancelButton(call, api)),
  h("h2", "Arguments"),
  contents(call.params, "Arguments"),
  call.outcome !== undefined && h("h2", "Result"),
  call.outcome !== undefined && contents(call.result, "Result"),
];

/**
 * @param {unknown} value
 * @param {string} label
 */
const contents = (value, label) =>
  value === undefined
    ? h(
      "p.muted",
      "Not shown: the Server shows contents with --audit-payloads, up to 16 KiB each.",
    )
    : jsonText(value, label);

/** @param {number | undefined} bytes */
const sizeText = (bytes) => bytes === undefined ? "–" : bytesText(bytes);

/** Names a call: its tool, or its event without one. @param {Call} call */
const callName = ({ tool, request }) => tool ?? request.replace(/^client:/, "");

/**
 * Makes a button that ends a call for its Agent.
 *
 * @param {Call} call
 * @param {Api} api
 */
const cancelButton = (call, api) =>
  buttonFor("Cancel…", callName(call), async () => {
    const reason = await askReason({
      title: `Cancel ${callName(call)} of ${call.agent}`,
      action: "Cancel the call",
    });
    if (reason === undefined) return;
    const path = `offices/${encodeURIComponent(call.office)}/calls/cancel`;
    const cancelled = api.post(path, { req_id: call.reqId, reason });
    await attempt(cancelled, `${callName(call)} was cancelled.`);
  });
