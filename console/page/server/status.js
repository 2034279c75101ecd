// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { PlotStyle } from "./plot.js" */
/** @import { Second } from "./counts.js" */
/** @import { ServerLive } from "./live.js" */
/** @import { Tone } from "../kit/text.js" */
import { fill, h } from "../kit/element.js";
import { dataTable, tableRow } from "../kit/list.js";
import { loading, tile, tileList } from "../kit/parts.js";
import { bytesText, durationText, sinceText } from "../kit/text.js";
import { keep } from "./counts.js";
import { Plot } from "./plot.js";

const RELOAD_MS = 1000;
/** How many seconds the plots show. */
const SHOWN_SECONDS = 300;
/** The look of plots of bytes. */
const BYTES = { text: bytesText, least: 1000 };

/** Counters, and plots of the last minutes. @type {View<ServerLive>} */
export const status = {
  title: () => "Status",
  show: (root, { api, live, signal }) => {
    const problems = h("div");
    const about = tileList();
    const nodes = h("div");
    const plots = new Plots(live);
    fill(root, h("h1", "Status"), problems, about, nodes, plots.element);
    loading({
      problems,
      signal,
      everyMs: RELOAD_MS,
      load: () => api.get("status", signal),
      show: (status) => {
        const { node, process, nodes: others = [] } = status;
        const all = process ? [{ node, process }, ...others] : [];
        const total = process && sumProcesses(all);
        fill(about, statusTiles(status, total));
        fill(nodes, others.length > 0 && nodesTable(all));
        const at = Math.floor(Date.now() / 1000);
        if (total) keep(live.samples, { at, ...total });
        plots.draw(Boolean(process));
      },
    });
  },
};

/** Of failures: the first is no success. @type {Tone[]} */
const FAILURE_TONES = ["bad", "warn", "busy", "good", "muted", "muted"];

/** The plots of calls and of processes. */
class Plots {
  #live;
  #calls = this.#create("Calls a second", { text: String, least: 4 });
  #latency = this.#create("Latency of calls", { text: durationText, least: 1 });
  #errors = this.#create("Failures a second", {
    text: String,
    least: 4,
    tones: FAILURE_TONES,
  });
  #queue = this.#create("Waiting for clients to read", BYTES);
  #memory = this.#create("Memory", BYTES);
  #all = [this.#calls, this.#latency, this.#errors, this.#queue, this.#memory];
  element = h("div.plots", this.#all.map(({ element }) => element));

  /** @param {ServerLive} live */
  constructor(live) {
    this.#live = live;
  }

  /** @param {boolean} hasProcesses whether processes may be seen */
  draw(hasProcesses) {
    this.#drawCalls();
    this.#drawProcesses();
    this.#queue.element.hidden = !hasProcesses;
    this.#memory.element.hidden = !hasProcesses;
  }

  /**
   * @param {string} title
   * @param {Omit<PlotStyle, "title" | "onMark">} style
   */
  #create(title, style) {
    return new Plot({
      title,
      ...style,
      onMark: (second) => this.#all.forEach((plot) => plot.mark(second)),
    });
  }

  #drawCalls() {
    const { seconds: { all }, openedAt } = this.#live;
    // The running second is not over.
    const last = Math.floor(Date.now() / 1000) - 1;
    const first = Math.floor(openedAt / 1000);
    const seconds = secondsTo(last, all);
    /** Nothing is known of the time before. @param {(second: Second) => number} value */
    const counts = (value) =>
      seconds.map(({ at, known }) =>
        known ? value(known) : at < first ? undefined : 0
      );
    /** @param {number} part */
    const latency = (part) =>
      seconds.map(({ known }) => known?.latencies.quantile(part));
    const outcomes = new Set(
      seconds.flatMap(({ known }) => [...known?.errors.keys() ?? []]),
    );
    const errors = [...outcomes].sort().map((name) => ({
      name,
      values: counts((second) => second.errors.get(name) ?? 0),
    }));
    const values = counts((second) => second.calls);
    this.#calls.draw([{ name: "calls", values }], last);
    this.#latency.draw([
      { name: "p50", values: latency(0.5) },
      { name: "p99", values: latency(0.99) },
    ], last);
    this.#errors.draw(errors, last);
  }

  #drawProcesses() {
    const last = Math.floor(Date.now() / 1000);
    const seconds = secondsTo(last, this.#live.samples);
    /** @param {string} name @param {keyof Sums} key */
    const line = (name, key) => ({
      name,
      values: seconds.map(({ known }) => known?.[key]),
    });
    this.#queue.draw([line("bytes", "queued_bytes")], last);
    this.#memory.draw([
      line("resident", "memory_bytes"),
      line("heap", "heap_bytes"),
    ], last);
  }
}

/**
 * Returns the seconds of the plots, with their counts where they are known.
 *
 * @template {{ at: number }} Item
 * @param {number} last
 * @param {readonly Item[]} all
 */
function secondsTo(last, all) {
  const known = new Map(all.map((each) => [each.at, each]));
  return Array.from({ length: SHOWN_SECONDS }, (_, i) => {
    const at = last - SHOWN_SECONDS + 1 + i;
    return { at, known: known.get(at) };
  });
}

const SUMMED = /** @type {const} */ ([
  "connections",
  "calls",
  "streams",
  "queued_bytes",
  "memory_bytes",
  "heap_bytes",
]);

/**
 * @typedef {Record<typeof SUMMED[number], number>} Sums
 *
 * @typedef {{ node: string, process: Sums & { draining: boolean } }} ClusterNode
 */

/** What several processes have together. @param {readonly ClusterNode[]} nodes */
function sumProcesses(nodes) {
  const sums = SUMMED.map((key) => [
    key,
    nodes.reduce((total, { process }) => total + process[key], 0),
  ]);
  return /** @type {Sums} */ (Object.fromEntries(sums));
}

/** @type {readonly import("../kit/list.js").Column<Sums>[]} */
const NODE_COLUMNS = [
  ["Connections", ({ connections }) => connections, "number"],
  ["Calls so far", ({ calls }) => calls, "number"],
  ["Waiting", ({ queued_bytes: bytes }) => bytesText(bytes), "number"],
  ["Memory", ({ memory_bytes: bytes }) => bytesText(bytes), "number"],
];

/** @param {readonly ClusterNode[]} nodes */
const nodesTable = (nodes) =>
  dataTable(
    { "aria-label": "Nodes" },
    ["Node", ...NODE_COLUMNS],
    h(
      "tbody",
      nodes.map(({ node, process }) => {
        const name = `${node}${process.draining ? " (draining)" : ""}`;
        return tableRow(name, NODE_COLUMNS, process);
      }),
    ),
  );

/**
 * @param {any} status
 * @param {Sums | undefined} process
 */
const statusTiles = (status, process) => [
  tile("Offices", status.offices),
  tile("Members", status.members),
  tile("Calls in flight", status.pending_calls),
  process && tile("Calls so far", process.calls),
  process && tile("Connections", process.connections),
  process && tile("Streams", process.streams),
  process && tile("Memory", bytesText(process.memory_bytes)),
  status.nodes && tile("Nodes", status.nodes.length + 1),
  tile(
    "Running for",
    sinceText(status.since, Date.now()),
    `version ${status.version}, protocol ${status.protocols.join(", ")}`,
  ),
];
