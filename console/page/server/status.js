// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Second } from "./counts.js" */
/** @import { Plot } from "./plot.js" */
import { fill, h } from "../kit/element.js";
import { loading, tile, tileList } from "../kit/parts.js";
import { bytesText, durationText, sinceText } from "../kit/text.js";
import { createPlot } from "./plot.js";

const RELOAD_MS = 1000;
/** How many seconds the plots show. */
const SHOWN_SECONDS = 300;

export const title = () => "Status";

/**
 * Shows counters, and plots of the last minutes.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal }) {
  const problems = h("div");
  const about = tileList();
  const nodes = h("div");
  /** @param {number | undefined} second */
  const onMark = (second) => {
    for (const plot of Object.values(plots)) plot.mark(second);
  };
  const calls = { text: String, least: 4, onMark };
  const bytes = { text: bytesText, least: 1000, onMark };
  const plots = {
    calls: createPlot({ title: "Calls a second", ...calls }),
    latency: createPlot({
      title: "Latency of calls",
      text: durationText,
      least: 1,
      onMark,
    }),
    errors: createPlot({ title: "Failures a second", ...calls }),
    queue: createPlot({ title: "Waiting for clients to read", ...bytes }),
    memory: createPlot({ title: "Memory", ...bytes }),
  };
  plots.errors.element.classList.add("failures");
  fill(
    root,
    h("h1", {}, "Status"),
    problems,
    about,
    nodes,
    h(
      "div",
      { class: "plots" },
      Object.values(plots).map(({ element }) => element),
    ),
  );
  loading({
    problems,
    signal,
    everyMs: RELOAD_MS,
    load: () => api.get("status", signal),
    show: (status) => {
      const { process, nodes: others = [] } = status;
      const all = process ? [process, ...others.map(processOf)] : [];
      const total = process && totalOf(all);
      fill(about, tilesOf(status, total));
      fill(nodes, others.length > 0 ? nodesTable(status) : "");
      if (total) live.samples.add(total);
      drawCalls(live, plots);
      /** @type {readonly Sample[]} */
      const samples = live.samples.all;
      const last = Math.floor(Date.now() / 1000);
      const seconds = secondsTo(last);
      const ofSecond = new Map(samples.map((sample) => [sample.at, sample]));
      /** @param {(sample: Sample) => number} value */
      const values = (value) =>
        seconds.map((at) => {
          const sample = ofSecond.get(at);
          return sample && value(sample);
        });
      plots.queue.draw(
        [{ name: "bytes", values: values((s) => s.queued) }],
        last,
      );
      plots.memory.draw([
        { name: "resident", values: values((s) => s.memory) },
        { name: "heap", values: values((s) => s.heap) },
      ], last);
      for (const { element } of [plots.queue, plots.memory]) {
        element.hidden = !process; // for operators of all offices
      }
    },
  });
}

/** @typedef {import("./counts.js").Sample} Sample */

/** @param {number} last @returns {number[]} */
const secondsTo = (last) =>
  Array.from({ length: SHOWN_SECONDS }, (_, i) => last - SHOWN_SECONDS + 1 + i);

/**
 * @param {{ seconds: { all: readonly Second[] }, openedAt: number }} live
 * @param {Record<"calls" | "latency" | "errors", Plot>} plots
 */
function drawCalls({ seconds: { all }, openedAt }, plots) {
  // The running second is not over.
  const last = Math.floor(Date.now() / 1000) - 1;
  const first = Math.floor(openedAt / 1000);
  const seconds = secondsTo(last);
  const known = new Map(all.map((second) => [second.at, second]));
  const of = seconds.map((at) => known.get(at));
  /** Nothing is known of the time before. @param {(second: Second) => number} value */
  const counts = (value) =>
    seconds.map((at) => {
      const second = known.get(at);
      return second ? value(second) : at < first ? undefined : 0;
    });
  plots.calls.draw([{ name: "calls", values: counts((s) => s.calls) }], last);
  plots.latency.draw(
    [["p50", 0.5], ["p99", 0.99]].map(([name, part]) => ({
      name: String(name),
      values: of.map((each) => each?.latencies.quantile(Number(part))),
    })),
    last,
  );
  const outcomes = new Set(
    of.flatMap((each) => [...each?.errors.keys() ?? []]),
  );
  plots.errors.draw(
    [...outcomes].sort().map((name) => ({
      name,
      values: counts((s) => s.errors.get(name) ?? 0),
    })),
    last,
  );
}

/** @param {{ process: Process }} node */
const processOf = ({ process }) => process;

/**
 * @typedef {{ connections: number, calls: number, streams: number, queued_bytes: number, memory_bytes: number, heap_bytes: number, draining: boolean }} Process
 */

/** What several processes have together. @param {readonly Process[]} all */
function totalOf(all) {
  /** @param {(process: Process) => number} value */
  const sum = (value) => all.reduce((total, each) => total + value(each), 0);
  return {
    connections: sum((each) => each.connections),
    calls: sum((each) => each.calls),
    streams: sum((each) => each.streams),
    queued_bytes: sum((each) => each.queued_bytes),
    memory_bytes: sum((each) => each.memory_bytes),
    heap_bytes: sum((each) => each.heap_bytes),
  };
}

/** @param {any} status */
const nodesTable = ({ node, process, nodes }) =>
  h(
    "table",
    { class: "cards", "aria-label": "Nodes" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        NODE_HEADS.map((text) => h("th", { scope: "col" }, text)),
      ),
    ),
    h(
      "tbody",
      {},
      [{ node, process }, ...nodes].map(nodeRow),
    ),
  );

const NODE_HEADS = ["Node", "Connections", "Calls so far", "Waiting", "Memory"];

/** @param {{ node: string, process: Process }} node */
function nodeRow({ node, process }) {
  const values = [
    process.connections,
    process.calls,
    bytesText(process.queued_bytes),
    bytesText(process.memory_bytes),
  ];
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, node, process.draining ? " (draining)" : ""),
    values.map((value, i) =>
      h(
        "td",
        { "data-label": NODE_HEADS[i + 1], class: "number" },
        String(value),
      )
    ),
  );
}

/**
 * @param {any} status
 * @param {ReturnType<typeof totalOf> | undefined} process
 */
const tilesOf = (status, process) => [
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
