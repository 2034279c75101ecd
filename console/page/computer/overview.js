// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../ui/shell.js" */
/** @import { Live, Server } from "./live.js" */
import { fill, h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";

export const title = () => "Overview";

/** The look of each state. */
const STATE_CLASSES = {
  running: "good",
  starting: "warn",
  restarting: "warn",
  failed: "bad",
  stopped: "muted",
  disabled: "muted",
};

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { live, signal }) {
  const about = h("dl", { class: "facts" });
  const problems = h("ul", { class: "problems" });
  const body = h("tbody");
  fill(
    root,
    h("h1", {}, "Overview"),
    about,
    problems,
    h("h2", { id: "servers" }, "MCP servers"),
    h(
      "table",
      { class: "cards", "aria-labelledby": "servers" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["MCP server", "State", "Type", "Tools", "Problems"].map((text) =>
            h("th", { scope: "col", class: "short" }, text)
          ),
        ),
      ),
      body,
    ),
  );
  live.subscribe(() => draw(live, { about, problems, body }), signal);
}

/**
 * @param {Live} live
 * @param {{ about: HTMLElement, problems: HTMLElement, body: HTMLElement }} parts
 */
function draw({ computer }, { about, problems, body }) {
  if (!computer) return;
  const { name, connection, protocol, office, url, skills } = computer;
  const isConnected = connection === "connected";
  const facts = [
    ["Name", name],
    [
      "Server",
      h("span", { class: isConnected ? "good" : "warn" }, connection),
      ` to ${url}, A2C-SMCP ${protocol}`,
    ],
    ["Office", office ?? "none"],
    ...skills.length > 0 ? [["Skills", skills.join(", ")]] : [],
  ];
  fill(
    about,
    facts.map(([term, ...texts]) =>
      h("div", {}, h("dt", {}, term), h("dd", {}, h("bdi", {}, ...texts)))
    ),
  );
  keyed(
    problems,
    computer.problems,
    (text) => text,
    (text) => h("li", { class: "problem" }, text),
  );
  keyed(
    body,
    computer.servers,
    ({ bundleId }) => bundleId,
    (server) => h("tr", {}, cells(server)),
  );
}

/** @param {Server} server */
const cells = (
  { label, state, does, type, tools, restarts, problems, authorizeAt },
) => [
  h("th", { scope: "row" }, h("bdi", {}, label)),
  h(
    "td",
    { "data-label": "State", class: STATE_CLASSES[state], title: does },
    restarts > 0 ? `${state}, restarted ${restarts} times` : state,
    does === `is ${state}` ? "" : h("small", {}, ` ${nextStart(does)}`),
  ),
  h("td", { "data-label": "Type", class: "short" }, type),
  h("td", { "data-label": "Tools", class: "number" }, String(tools)),
  h(
    "td",
    {
      class: "texts",
      "data-label": problems.length > 0 ? "Problems" : undefined,
    },
    problems.map((text) => h("p", {}, text)),
    authorizeAt && authorize(authorizeAt),
  ),
];

/**
 * Offers the page where a person authorizes the Computer. It belongs to others, so that it gets no
 * window of this one and no referrer.
 *
 * @param {string} address
 */
const authorize = (address) =>
  h("button", {
    type: "button",
    onClick: () => open(address, "_blank", "noopener,noreferrer"),
  }, "Authorize in the browser");

/** @param {string} does such as `is failed; the next attempt to start it is at 2026-…` */
const nextStart = (does) => {
  const [, time = ""] = / at (\S+)$/.exec(does) ?? [];
  return time === "" ? "" : `again at ${new Date(time).toLocaleTimeString()}`;
};
