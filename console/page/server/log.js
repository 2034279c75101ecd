// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
/** @import { LogEvent } from "./events.js" */
import { fill, h } from "../kit/element.js";
import { createList, dataTable } from "../kit/list.js";
import { empty, lazilyFolded } from "../kit/parts.js";
import { jsonView } from "../kit/result.js";
import { clock } from "../kit/text.js";
import { eventSentence, eventTone } from "./events.js";
import { drawing } from "./live.js";

/** The longest text of an event on its line, in characters. */
const MAX_TEXT = 500;

/** The events of the stream, as they come. @type {View<ServerLive>} */
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
      "No events yet",
      "Events since this page was opened appear here: joins, calls, refusals, and the lines of the Server's log.",
    );
    const table = dataTable(
      { class: "cards log", "aria-labelledby": "log" },
      ["Time", "Event", "Office", "What"],
      body,
    );
    const list = createList({
      noun: "events",
      which: "latest",
      body,
      nothing,
      whole: table,
      placeholder: "any words",
      items: () => live.log.toReversed(),
      searchText: (each) => `${each.event} ${fieldsText(each)}`,
      fits: ({ event }) => withCalls.checked || !event.startsWith("call_"),
      itemKey: ({ key }) => String(key),
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
function fieldsText(each) {
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
    h("th", { scope: "row", class: `dot ${eventTone(event, data)}` }, event),
    h("td.clip", h("bdi", data["office"] ?? "")),
    h("td", details(each)),
  );
}

/** Makes the line of an event, which unfolds to its fields. @param {LogEvent} each */
function details(each) {
  const { event, data } = each;
  return lazilyFolded(
    h(
      "summary.clip",
      h("bdi", eventSentence(event, data).slice(0, MAX_TEXT)),
      " ",
      h("bdi.muted", fieldsText(each).slice(0, MAX_TEXT)),
    ),
    () => jsonView(data),
  );
}
