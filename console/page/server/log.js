// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { Tone } from "../kit/text.js" */
/** @import { LogEvent } from "./pulse.js" */
import { fill, h } from "../kit/element.js";
import { createList, tableOf } from "../kit/list.js";
import { empty } from "../kit/parts.js";
import { jsonView } from "../kit/result.js";
import {
  clock,
  durationText,
  hasFailed,
  outcomeText,
  runningText,
} from "../kit/text.js";
import { drawing } from "./live.js";

/** The most of one event that is shown on its line, in characters. */
const MAX_TEXT = 500;

/** What happens, as it comes. @type {View} */
export const log = {
  title: () => "Log",
  show: (root, { live, signal }) => {
    const body = h("tbody");
    const withCalls = h("input", {
      type: "checkbox",
      id: "with-calls",
      checked: true,
      onChange: () => list.draw(),
    });
    const nothing = empty(
      "Nothing has happened yet",
      "Events are listed as they come, from when this page was opened: joins, calls, refusals, and what the Server logs.",
    );
    const table = tableOf(
      { class: "cards log", "aria-labelledby": "log" },
      ["Time", "Event", "Office", "What"],
      body,
    );
    const list = createList({
      ...{ noun: "events", which: "latest", most: 200 },
      ...{ body, nothing, whole: table },
      placeholder: "any words",
      items: () => /** @type {LogEvent[]} */ (live.log).toReversed(),
      textOf: (each) => `${each.event} ${textOf(each)}`,
      fits: ({ event }) => withCalls.checked || !event.startsWith("call_"),
      keyOf: ({ key }) => String(key),
      make: row,
      update: () => {}, // an event does not change
    });
    fill(
      root,
      h("h1", { id: "log" }, "Log"),
      list.bar(
        h("label.check", withCalls, "with calls"),
        drawing(live, signal, list.draw),
      ),
      nothing,
      table,
    );
  },
};

/** The text of each event, which is made once. @type {WeakMap<object, string>} */
const texts = new WeakMap();

/** @param {LogEvent} each */
function textOf(each) {
  const known = texts.get(each);
  if (known !== undefined) return known;
  const { at: _at, event: _event, ...fields } = each.data;
  const text = Object.entries(fields).map(([name, value]) =>
    `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
  ).join(" ");
  texts.set(each, text);
  return text;
}

/** @param {LogEvent} each */
function row(each) {
  const { event, data } = each;
  return h(
    "tr",
    h("td.short.number", clock.format(each.at)),
    h("th", { scope: "row", class: `dot ${toneOf(event, data)}` }, event),
    h("td.clip", h("bdi", data["office"] ?? "")),
    h("td", details(each)),
  );
}

/** Makes the line of an event, which unfolds to its fields. @param {LogEvent} each */
function details(each) {
  const { event, data } = each;
  const fields = h("div");
  const element = h(
    "details",
    {
      onToggle: () => {
        if (element.open && fields.children.length === 0) {
          fill(fields, jsonView(data));
        }
      },
    },
    h(
      "summary.clip",
      h("bdi", sentenceOf(event, data).slice(0, MAX_TEXT)),
      " ",
      h("bdi.muted", textOf(each).slice(0, MAX_TEXT)),
    ),
    fields,
  );
  return element;
}

/**
 * Writes what an event says as a sentence.
 *
 * @param {string} event
 * @param {LogEvent["data"]} data
 * @returns {string}
 */
export function sentenceOf(event, data) {
  const { name, role, agent, computer, by, address, principal, reason } = data;
  const what = data["tool"] ??
    String(data["request"] ?? "").replace(/^client:/, "");
  const who = name ?? principal ?? address ?? "a client";
  const because = reason ? `: ${reason}` : "";
  switch (event) {
    case "open":
      return `The stream is open${
        data["missed"] ? ", events were missed" : ""
      }`;
    case "call_began":
      return `${agent} calls ${what} of ${computer}`;
    case "call_waiting":
      return `${what} of ${computer}: ${runningText(data)}`;
    case "call_ended":
      return `${what} of ${computer}: ${outcomeText(data)} after ${
        durationText(Number(data["ms"]))
      }`;
    case "call_cancelled":
      return `${by} cancelled a call of ${agent} to ${computer}${because}`;
    case "operator_asked":
      return `${by} asked ${computer} for ${what}: ${data["outcome"]}`;
    case "joined":
      return `${name} joined as ${role === "agent" ? "Agent" : "Computer"}`;
    case "left":
      return `${name} left${because}`;
    case "member_kicked":
      return `${by} kicked ${name}${because}`;
    case "key_revoked":
      return `${by} revoked ${principal}${because}`;
    case "session_expired":
      return `The credentials of ${who} expired`;
    case "session_revoked":
      return `The session of ${who} ended${because}`;
    case "limit_hit":
      return `${who} exceeded the limit "${data["limit"]}"`;
    case "log":
      return String(data["message"]);
    default:
      return reason ? `${who} was refused${because}` : event;
  }
}

/**
 * Returns how an event looks.
 *
 * @param {string} event
 * @param {LogEvent["data"]} data
 * @returns {Tone}
 */
export function toneOf(event, { outcome, level }) {
  if (event === "call_ended") {
    return outcome === "ok" ? "good" : hasFailed(outcome) ? "bad" : "muted";
  }
  if (event === "joined") return "good";
  if (/^call_(began|waiting)$/.test(event)) return "busy";
  if (/error|fatal/.test(level ?? "")) return "bad";
  const isWarning = level === "warning" ||
    /refused|failed|limit|kicked|revoked|cancelled|expired/.test(event);
  return isWarning ? "warn" : "muted";
}
