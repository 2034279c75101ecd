// @ts-check
/// <reference lib="dom" />
import { h } from "./element.js";

/** How many entries of a list or object are shown at once. */
const MAX_ENTRIES = 100;
/** How much of a text is shown at first, in characters. */
const MAX_TEXT = 2000;

/**
 * Shows a value of JSON as a tree, of which only what is unfolded is made.
 *
 * @param {unknown} value
 * @param {string} [name]
 * @param {boolean} [isOpen]
 * @returns {HTMLElement}
 */
export function jsonView(value, name, isOpen = true) {
  const label = name === undefined
    ? undefined
    : h("bdi", { class: "json-name" }, `${name}: `);
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value) ?? "undefined";
    return h(
      "div",
      { class: "json-leaf" },
      label,
      h(
        "bdi",
        { class: `json-${value === null ? "null" : typeof value}` },
        text.slice(0, MAX_TEXT),
        text.length > MAX_TEXT && "…",
      ),
    );
  }
  const entries = Object.entries(value);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return h("div", { class: "json-leaf" }, label, begin, end);
  }
  const body = h("div", { class: "json-body" });
  let shown = 0;
  const more = () => {
    const next = entries.slice(shown, shown + MAX_ENTRIES);
    shown += next.length;
    button.remove();
    body.append(...next.map(([key, each]) => jsonView(each, key, false)));
    if (shown < entries.length) body.append(button);
  };
  const button = h("button", { type: "button", onClick: () => more() }, "More");
  const count = entries.length === 1 ? "1 entry" : `${entries.length} entries`;
  const details = h(
    "details",
    {
      class: "json",
      open: isOpen,
      onToggle: () => shown === 0 && details.open && more(),
    },
    h("summary", {}, label, `${begin} ${count} ${end}`),
    body,
  );
  if (isOpen) more();
  return details;
}
