// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { LogEvent } from "./live.js" */
import { fill, h, keyed } from "../kit/element.js";
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

/** The most that are shown; a filter finds the others. */
const MAX_SHOWN = 200;
/** The most of one event that is shown on its line, in characters. */
const MAX_TEXT = 500;

export const title = () => "Log";

/**
 * Shows what happens, as it comes.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { live, signal }) {
  const count = h("p", { class: "muted", role: "status" });
  const body = h("tbody");
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "any words",
    onInput: () => draw(),
  });
  const withCalls = h("input", {
    type: "checkbox",
    id: "with-calls",
    checked: true,
    onChange: () => draw(),
  });
  const table = h(
    "table",
    { class: "cards log", "aria-labelledby": "log" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Time", "Event", "Office", "What"].map((text) =>
          h("th", { scope: "col" }, text)
        ),
      ),
    ),
    body,
  );
  const nothing = empty(
    "Nothing has happened yet",
    "Events are listed as they come, from when this page was opened: joins, calls, refusals, and what the Server logs.",
  );
  const draw = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    /** @type {readonly LogEvent[]} */
    const log = live.log;
    const found = log.filter((each) => {
      if (!withCalls.checked && each.event.startsWith("call_")) return false;
      if (filter.value === "") return true;
      const text = `${each.event} ${textOf(each)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    nothing.hidden = log.length > 0;
    table.hidden = !nothing.hidden;
    count.textContent = found.length > MAX_SHOWN
      ? `${found.length} events, of which the latest ${MAX_SHOWN} are shown`
      : `${found.length} of ${log.length} events`;
    keyed(
      body,
      found.slice(-MAX_SHOWN).reverse(),
      {
        keyOf: ({ key }) => String(key),
        make: row,
        update: () => {}, // an event does not change
      },
    );
  };
  fill(
    root,
    h("h1", { id: "log" }, "Log"),
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
      h("label", { class: "check" }, withCalls, "with calls"),
      drawing(live, signal, draw),
      count,
    ),
    nothing,
    table,
  );
}
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
    {},
    h("td", { class: "short number" }, clock.format(each.at)),
    h("th", { scope: "row", class: `dot ${toneOf(event, data)}` }, event),
    h("td", { class: "clip" }, h("bdi", {}, data["office"] ?? "")),
    h("td", {}, details(each)),
  );
}

/**
 * Makes the line of an event, which unfolds to its fields.
 *
 * @param {LogEvent} each
 */
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
      "summary",
      { class: "clip" },
      h("bdi", {}, sentenceOf(event, data).slice(0, MAX_TEXT)),
      " ",
      h("bdi", { class: "muted" }, textOf(each).slice(0, MAX_TEXT)),
    ),
    fields,
  );
  return element;
}

/**
 * The fields of an event.
 * @typedef {Readonly<Record<string, any>>} Fields
 *
 * How something is.
 * @typedef {"good" | "warn" | "bad" | "busy" | "muted"} Tone
 */

/**
 * Writes what an event says as a sentence.
 *
 * @param {string} event
 * @param {Fields} data
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
 * @param {Fields} data
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
