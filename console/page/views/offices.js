// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../ui/shell.js" */
import { fill, h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";
import { loading } from "../ui/loading.js";
import { hashOf } from "../routes.js";

const RELOAD_MS = 3000;
/** The most rows that are shown; a filter finds the others. */
const MAX_ROWS = 200;
/** Compares many names quickly. */
const ORDER = new Intl.Collator();

/** @typedef {{ office: string, protocol: string, agent: string | null, computers: number, pending_calls: number }} Office */

export const title = () => "Offices";

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, signal }) {
  const problems = h("div");
  const body = h("tbody");
  const count = h("p", { class: "muted", role: "status" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "name of an office or Agent",
    onInput: () => draw(),
  });
  /** @type {Office[]} */
  let offices = [];
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const found = offices.filter(({ office, agent }) =>
      `${office}\n${agent ?? ""}`.toLowerCase().includes(wanted)
    );
    count.textContent = found.length > MAX_ROWS
      ? `${found.length} offices, of which the first ${MAX_ROWS} are shown`
      : offices.length === 0
      ? "Nobody is in an office."
      : `${found.length} of ${offices.length} offices`;
    keyed(
      body,
      found.slice(0, MAX_ROWS),
      ({ office, protocol }) => JSON.stringify([office, protocol]),
      row,
    );
  };
  fill(
    root,
    h("h1", {}, "Offices"),
    problems,
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
    ),
    count,
    h(
      "table",
      { class: "cards" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Office", "Agent", "Computers", "Calls on their way", "Protocol"]
            .map((text) => h("th", { scope: "col" }, text)),
        ),
      ),
      body,
    ),
  );
  loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: () => api.get("offices", signal),
    show: (answer) => {
      offices = answer.offices.toSorted((
        /** @type {Office} */ a,
        /** @type {Office} */ b,
      ) => ORDER.compare(a.office, b.office));
      draw();
    },
  });
}

/** @param {Office} about */
const row = ({ office, protocol, agent, computers, pending_calls: pending }) =>
  h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("a", { href: hashOf(["offices", office]) }, h("bdi", {}, office)),
    ),
    h(
      "td",
      { "data-label": "Agent" },
      agent === null
        ? h("span", { class: "muted" }, "none")
        : h("bdi", {}, agent),
    ),
    h("td", { "data-label": "Computers", class: "number" }, computers),
    h("td", { "data-label": "Calls on their way", class: "number" }, pending),
    h("td", { "data-label": "Protocol", class: "number" }, protocol),
  );
