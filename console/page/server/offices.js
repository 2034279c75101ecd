// @ts-check
/// <reference lib="dom" />
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { Tone } from "../kit/text.js" */
/** @import { Bar } from "./counts.js" */
/** @import { LogEvent } from "./events.js" */
/** @import { ServerLive } from "./live.js" */
import { fill, h, keyed, link, svg } from "../kit/element.js";
import { createList, dataTable, tableRow } from "../kit/list.js";
import {
  command,
  empty,
  every,
  loading,
  panel,
  pill,
  tile,
  tileList,
} from "../kit/parts.js";
import { agoText, bytesText, clock, sinceText } from "../kit/text.js";
import { Pulse, PULSE_MINUTES } from "./counts.js";
import { eventSentence, eventTone } from "./events.js";

const RELOAD_MS = 2000;
/** How often news of the stream are drawn. */
const DRAW_MS = 1000;
/** The latest events that are shown, calls left out. */
const MAX_EVENTS = 12;
/** Compares many names quickly. */
export const ORDER = new Intl.Collator();

/** @param {Office} a @param {Office} b */
const byName = (a, b) => ORDER.compare(a.office, b.office);

/** @typedef {{ office: string, node?: string, agent: string | null, computers: number, pending_calls: number }} Office */

/** Counts, the offices with their calls of the last minutes, and the latest events. @type {View<ServerLive>} */
export const offices = {
  title: () => "Offices",
  show: (root, { api, live, signal }) => {
    const problems = h("div");
    const tiles = tileList();
    const latest = new LatestEvents();
    /** @type {any} */
    let status;
    /** @type {readonly Office[]} */
    let all = [];
    const list = officeList(live, () => all, latest.element);
    fill(root, h("h1", "Offices"), problems, tiles, list.elements);
    const draw = () => {
      if (status === undefined) return;
      fill(tiles, statusTiles(status, live, Date.now()));
      list.draw();
      latest.show(live.log);
    };
    loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: async () => {
        const [list, counts] = await Promise.all([
          api.get("offices", signal),
          api.get("status", signal),
        ]);
        // With the nodes that either of them lacks.
        return { ...counts, ...list, counts };
      },
      show: (answer) => {
        status = answer.counts;
        all = answer.offices.toSorted(byName);
        draw();
      },
    });
    every(DRAW_MS, signal, draw);
  },
};

/**
 * Makes the list of offices, beside the latest events; another element is shown while there are none.
 *
 * @param {ServerLive} live
 * @param {() => readonly Office[]} items
 * @param {HTMLElement} latest
 */
function officeList(live, items, latest) {
  const body = h("tbody");
  const whole = h("div.beside", { hidden: true });
  const nothing = noOffices();
  nothing.hidden = true;
  const { bar, draw } = createList({
    noun: "offices",
    body,
    nothing,
    whole,
    placeholder: "name of an office or Agent",
    items,
    searchText: ({ office, agent }) => `${office}\n${agent ?? ""}`,
    itemKey: ({ office }) => office,
    make: (office) => row(office, live.pulseOf(office.office)),
  });
  fill(whole, h("div", bar(), dataTable({}, HEADS, body)), latest);
  return { elements: [nothing, whole], draw };
}

const noOffices = () =>
  empty(
    "No offices",
    "An office exists while it has members. Start a Computer, whose MCP servers become tools:",
    command(
      `smcp-computer run --config computer.json --office home --url ${location.origin}`,
    ),
    "Then an Agent can use them:",
    command(`smcp-agent tools --office home --url ${location.origin}`),
  );

/** The latest events, calls left out. */
class LatestEvents {
  #quiet = h(
    "p.muted",
    "Members that join or leave, and refused clients, appear here.",
  );
  #events = h("ol.events");
  element = panel(
    "latest",
    ["Latest events"],
    link(["log"], "Log"),
    this.#quiet,
    this.#events,
  );

  /** @param {readonly LogEvent[]} log oldest first */
  show(log) {
    const shown = log.filter(({ event, data }) =>
      !event.startsWith("call_") && (event !== "open" || data["missed"])
    ).slice(-MAX_EVENTS).reverse();
    this.#quiet.hidden = shown.length > 0;
    keyed(this.#events, shown, {
      itemKey: ({ key }) => String(key),
      make: eventItem,
      update: () => {},
    });
  }
}

/**
 * @param {any} status
 * @param {ServerLive} live
 * @param {number} now
 */
function statusTiles(status, live, now) {
  const { process, nodes = [] } = status;
  return [
    tile("Offices", status.offices),
    tile("Members", status.members),
    tile("Calls in flight", status.pending_calls),
    ...pulseTiles(live.pulse.bars(now)),
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
 * Returns the state of an office.
 *
 * @param {Pick<Office, "agent" | "computers" | "pending_calls">} office
 * @returns {[Tone, string]}
 */
export const officeState = ({ agent, computers, pending_calls: pending }) =>
  agent === null
    ? ["warn", "no Agent"]
    : computers === 0
    ? ["warn", "no Computer"]
    : pending > 0
    ? ["busy", "busy"]
    : ["good", "ready"];

/**
 * @param {Office} office
 * @param {Pulse | undefined} pulse
 */
const row = (office, pulse) =>
  tableRow(
    [
      link(["offices", office.office], office.office),
      office.node !== undefined && h("small", ` at node ${office.node}`),
    ],
    COLUMNS,
    { ...office, pulse },
  );

/** @type {readonly Column<Office & { pulse: Pulse | undefined }>[]} */
const COLUMNS = [
  ["State", (office) => pill(...officeState(office)), ""],
  ["Agent", ({ agent }) => agent ?? h("span.muted", "none")],
  ["Computers", ({ computers }) => computers, "number"],
  ["In flight", ({ pending_calls: pending }) => pending, "number"],
  ["Calls", ({ pulse = new Pulse() }) => sparkline(pulse.bars(Date.now())), ""],
  [
    "Last event",
    ({ pulse: { last } = new Pulse() }) =>
      last
        ? [
          h("bdi.clip", eventSentence(last.event, last.data)),
          h("small", agoText(last.at, Date.now())),
        ]
        : h("span.muted", "none yet"),
    "event",
  ],
];

/** The heads of the table: there is room for more words than on a card. */
const HEADS = ["Office", ...COLUMNS.map(([head]) => head)].map((head) =>
  head === "Calls" ? `Calls, ${PULSE_MINUTES} min` : head
);

/** @param {LogEvent} each */
const eventItem = ({ at, event, data }) =>
  h(
    "li",
    { class: eventTone(event, data) },
    h("small", clock.format(at)),
    h(
      "div",
      h("bdi", eventSentence(event, data).slice(0, 300)),
      data["office"] !== undefined &&
        h("small", " in ", h("bdi", data["office"])),
    ),
  );

/**
 * Draws the calls of the last minutes; those that failed in another colour.
 *
 * @param {readonly Bar[]} bars oldest first
 */
function sparkline(bars) {
  const most = Math.max(1, ...bars.map(({ calls }) => calls));
  /** Even one is seen. @param {(bar: Bar) => number} of @param {number} least */
  const path = (of, least) =>
    bars.map((bar, i) => {
      const height = Math.max(
        of(bar) && least,
        Math.round(22 * of(bar) / most),
      );
      return height === 0 ? "" : `M${2 * i} 24v-${height}h1.5v${height}z`;
    }).join("");
  const { calls, failed } = sumBars(bars);
  const count = calls === 0
    ? "no call"
    : calls === 1
    ? "1 call"
    : `${calls} calls`;
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${2 * bars.length} 24`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${count} in the last ${PULSE_MINUTES} minutes${
        failed > 0 ? `, ${failed} failed` : ""
      }`,
    },
    svg("path", { class: "calls", d: path((bar) => bar.calls, 2) }),
    svg("path", { class: "failed", d: path((bar) => bar.failed, 5) }),
  );
}

/** @param {readonly Bar[]} bars */
const sumBars = (bars) => ({
  calls: bars.reduce((all, { calls }) => all + calls, 0),
  failed: bars.reduce((all, { failed }) => all + failed, 0),
});

/**
 * Makes the figures of the last minutes.
 *
 * @param {readonly Bar[]} bars oldest first
 */
export function pulseTiles(bars) {
  const { calls, failed } = sumBars(bars);
  return [
    tile(`Calls in ${PULSE_MINUTES} min`, calls, sparkline(bars)),
    tile(
      `Failures in ${PULSE_MINUTES} min`,
      h("span", { class: failed > 0 ? "bad" : "" }, failed),
    ),
  ];
}
