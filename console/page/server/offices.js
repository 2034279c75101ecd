// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { LogEvent } from "./live.js" */
/** @import { Tone } from "./log.js" */
import { fill, h, keyed } from "../kit/element.js";
import { hashOf } from "../kit/page.js";
import {
  command,
  empty,
  loading,
  pill,
  sparkline,
  tile,
  tileList,
  totalOf,
} from "../kit/parts.js";
import { agoText, bytesText, clock, sinceText } from "../kit/text.js";
import { Pulse, PULSE_MINUTES } from "./counts.js";
import { sentenceOf, toneOf } from "./log.js";

const RELOAD_MS = 2000;
/** How often what the stream says is drawn. */
const DRAW_MS = 1000;
/** The most rows that are shown; a filter finds the others. */
const MAX_ROWS = 200;
/** The latest events that are shown, calls left out. */
const MAX_EVENTS = 12;
/** Compares many names quickly. */
const ORDER = new Intl.Collator();

/** @typedef {{ office: string, node?: string, agent: string | null, computers: number, pending_calls: number }} Office */

export const title = () => "Offices";

/**
 * Shows what is alive: counts, the offices with their calls of the last minutes, and the latest events.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal }) {
  const problems = h("div");
  const tiles = tileList();
  const body = h("tbody");
  const count = h("p", { class: "muted", role: "status" });
  const quiet = h(
    "p",
    { class: "muted" },
    "Who joins, leaves or is refused is listed here as it happens.",
  );
  const events = h("ol", { class: "events" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "name of an office or Agent",
    onInput: () => draw(),
  });
  const nothing = empty(
    "Nobody is in an office",
    "An office exists while it has members. Start a Computer, whose MCP servers become tools:",
    command(
      `smcp-computer run --config computer.json --office home --url ${location.origin}`,
    ),
    "Then an Agent can use them:",
    command(`smcp-agent tools --office home --url ${location.origin}`),
  );
  const columns = h(
    "div",
    { class: "beside" },
    h(
      "div",
      {},
      h(
        "p",
        { class: "field inline" },
        h("label", { for: "filter" }, "Filter"),
        filter,
        count,
      ),
      h(
        "table",
        { class: "cards" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            HEADS.map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        body,
      ),
    ),
    h(
      "section",
      { class: "panel", "aria-labelledby": "latest" },
      h(
        "div",
        { class: "head" },
        h("h2", { id: "latest" }, "Latest events"),
        h("a", { href: "#/log" }, "Log"),
      ),
      quiet,
      events,
    ),
  );
  fill(root, h("h1", {}, "Offices"), problems, tiles, nothing, columns);
  /** @type {Office[]} */
  let offices = [];
  /** @type {any} */
  let status;
  const draw = () => {
    if (status === undefined) return;
    const now = Date.now();
    fill(tiles, tilesOf(status, live, now));
    nothing.hidden = offices.length > 0;
    columns.hidden = !nothing.hidden;
    const wanted = filter.value.toLowerCase();
    const found = offices.filter(({ office, agent }) =>
      `${office}\n${agent ?? ""}`.toLowerCase().includes(wanted)
    );
    count.textContent = found.length > MAX_ROWS
      ? `${found.length} offices, of which the first ${MAX_ROWS} are shown`
      : `${found.length} of ${offices.length} offices`;
    keyed(
      body,
      found.slice(0, MAX_ROWS),
      {
        keyOf: ({ office }) => office,
        make: (office) => row(office, live.pulseOf(office.office), now),
      },
    );
    /** @type {readonly LogEvent[]} */
    const log = live.log;
    const shown = log.filter(({ event, data }) =>
      !event.startsWith("call_") && (event !== "open" || data["missed"])
    )
      .slice(-MAX_EVENTS).reverse();
    quiet.hidden = shown.length > 0;
    keyed(events, shown, {
      keyOf: ({ key }) => String(key),
      make: eventItem,
      update: () => {},
    });
  };
  columns.hidden = nothing.hidden = true;
  loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: async () => {
      const [list, counts] = await Promise.all([
        api.get("offices", signal),
        api.get("status", signal),
      ]);
      return { ...list, counts };
    },
    show: (answer) => {
      status = answer.counts;
      offices = answer.offices.toSorted((
        /** @type {Office} */ a,
        /** @type {Office} */ b,
      ) => ORDER.compare(a.office, b.office));
      draw();
    },
  });
  const timer = setInterval(() => document.hidden || draw(), DRAW_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

const HEADS = [
  "Office",
  "State",
  "Agent",
  "Computers",
  "In flight",
  `Calls, ${PULSE_MINUTES} min`,
  "Last event",
];

/**
 * @param {any} status
 * @param {Context["live"]} live
 * @param {number} now
 */
function tilesOf(status, live, now) {
  const bars = live.pulse.bars(now);
  const { calls, failed } = totalOf(bars);
  const { process, nodes = [] } = status;
  return [
    tile("Offices", status.offices),
    tile("Members", status.members),
    tile("Calls in flight", status.pending_calls),
    tile(`Calls in ${PULSE_MINUTES} min`, calls, sparkline(bars)),
    tile(
      `Failures in ${PULSE_MINUTES} min`,
      h("span", { class: failed > 0 ? "bad" : "" }, failed),
    ),
    process &&
    tile(
      "Memory",
      bytesText(process.memory_bytes),
      `${process.connections} connections`,
    ),
    tile(
      "Running for",
      sinceText(status.since, now),
      nodes.length > 0
        ? `version ${status.version}, ${nodes.length + 1} nodes`
        : `version ${status.version}`,
    ),
  ];
}

/**
 * Returns how an office is.
 *
 * @param {Pick<Office, "agent" | "computers" | "pending_calls">} office
 * @returns {[Tone, string]}
 */
export const stateOf = ({ agent, computers, pending_calls: pending }) =>
  agent === null
    ? ["warn", "no Agent"]
    : computers === 0
    ? ["warn", "no Computer"]
    : pending > 0
    ? ["busy", "busy"]
    : ["good", "ready"];

/**
 * @param {Office} about
 * @param {Pulse | undefined} pulse
 * @param {number} now
 */
function row(about, pulse, now) {
  const { office, node, agent, computers, pending_calls: pending } = about;
  const last = pulse?.last;
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("a", { href: hashOf(["offices", office]) }, h("bdi", {}, office)),
      node !== undefined && h("small", {}, ` at node ${node}`),
    ),
    h("td", { "data-label": "State" }, pill(...stateOf(about))),
    h(
      "td",
      { "data-label": "Agent" },
      agent === null
        ? h("span", { class: "muted" }, "none")
        : h("bdi", {}, agent),
    ),
    h("td", { "data-label": "Computers", class: "number" }, computers),
    h("td", { "data-label": "In flight", class: "number" }, pending),
    h(
      "td",
      { "data-label": "Calls" },
      sparkline((pulse ?? new Pulse()).bars(now)),
    ),
    h(
      "td",
      { "data-label": "Last event", class: "event" },
      last
        ? [
          h("bdi", { class: "clip" }, sentenceOf(last.event, last.data)),
          h("small", {}, agoText(last.at, now)),
        ]
        : h("span", { class: "muted" }, "none yet"),
    ),
  );
}

/** @param {LogEvent} each */
const eventItem = ({ at, event, data }) =>
  h(
    "li",
    { class: toneOf(event, data) },
    h("small", {}, clock.format(at)),
    h(
      "div",
      {},
      h("bdi", {}, sentenceOf(event, data).slice(0, 300)),
      data["office"] !== undefined &&
        h("small", {}, " in ", h("bdi", {}, data["office"])),
    ),
  );
