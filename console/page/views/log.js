// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../ui/shell.js" */
/** @import { LogEvent } from "../data/live.js" */
import { fill, h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";
import { drawing } from "../ui/paused.js";
import { clock } from "./calls_parts.js";

/** The most that are shown; a filter finds the others. */
const MAX_SHOWN = 200;
/** The most of one event that is shown, in characters. */
const MAX_TEXT = 2000;

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
    count.textContent = found.length > MAX_SHOWN
      ? `${found.length} events, of which the latest ${MAX_SHOWN} are shown`
      : `${found.length} of ${log.length} events`;
    keyed(
      body,
      found.slice(-MAX_SHOWN).reverse(),
      ({ key }) => String(key),
      row,
      () => {}, // an event does not change
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
    ),
    count,
    h(
      "table",
      { class: "cards", "aria-labelledby": "log" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Event", "Time", "Office", "What"].map((text) =>
            h("th", { scope: "col" }, text)
          ),
        ),
      ),
      body,
    ),
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
  const text = textOf(each);
  return h(
    "tr",
    { class: each.data["level"] },
    h("th", { scope: "row" }, each.event),
    h("td", { "data-label": "Time" }, clock.format(each.at)),
    h(
      "td",
      { "data-label": "Office" },
      h("bdi", {}, each.data["office"] ?? ""),
    ),
    h(
      "td",
      { "data-label": "What" },
      h("bdi", {}, text.slice(0, MAX_TEXT), text.length > MAX_TEXT ? "…" : ""),
    ),
  );
}
