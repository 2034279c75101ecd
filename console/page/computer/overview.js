// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Tone } from "../server/log.js" */
/** @import { Live, Server } from "./live.js" */
import { fill, h, keyed } from "../kit/element.js";
import { clock } from "../kit/text.js";
import { command, empty, pill, tile, tileList } from "../kit/parts.js";

export const title = () => "Overview";

/** The look of each state. @type {Record<Server["state"], Tone>} */
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
  const about = tileList();
  const problems = h("ul", { class: "problems" });
  const body = h("tbody");
  const nothing = empty(
    "No MCP server",
    "Add one under mcpServers to the file that smcp-computer run reads; with --watch it is started at once. To take over those of Claude Desktop, Cursor or VS Code:",
    command("smcp-computer import --help"),
  );
  const table = h(
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
  );
  fill(
    root,
    h("h1", {}, "Overview"),
    about,
    problems,
    h("h2", { id: "servers" }, "MCP servers"),
    nothing,
    table,
  );
  nothing.hidden = table.hidden = true;
  live.subscribe(
    () => draw(live, { about, problems, body, nothing, table }),
    signal,
  );
}

/**
 * @param {Live} live
 * @param {Record<"about" | "problems" | "body" | "nothing" | "table", HTMLElement>} parts
 */
function draw({ computer }, { about, problems, body, nothing, table }) {
  if (!computer) return;
  const { name, connection, protocol, office, url, skills, servers, tools } =
    computer;
  const isConnected = connection === "connected";
  const count = (/** @type {Server["state"]} */ state) =>
    servers.filter((server) => server.state === state).length;
  fill(
    about,
    tile("Name", name),
    tile("Office", office ?? "none"),
    tile("MCP servers running", `${count("running")} of ${servers.length}`),
    tile("Tools", tools.length),
    skills.length > 0 && tile("Skills", skills.length, skills.join(", ")),
    tile(
      "Server",
      pill(isConnected ? "good" : "warn", connection),
      h("bdi", {}, ` to ${url}, A2C-SMCP ${protocol}`),
    ),
  );
  nothing.hidden = servers.length > 0;
  table.hidden = !nothing.hidden;
  keyed(
    problems,
    computer.problems,
    {
      keyOf: (text) => text,
      make: (text) => h("li", { class: "problem" }, text),
    },
  );
  keyed(
    body,
    servers,
    {
      keyOf: ({ bundleId }) => bundleId,
      make: (server) => h("tr", {}, cells(server)),
    },
  );
}

/** @param {Server} server */
const cells = (
  { label, state, does, type, tools, restarts, problems, authorizeAt },
) => [
  h("th", { scope: "row" }, h("bdi", {}, label)),
  h(
    "td",
    { "data-label": "State", title: does },
    pill(STATE_CLASSES[state], state),
    restarts > 0 && h("small", {}, ` restarted ${restarts} times`),
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
  return time === "" ? "" : `again at ${clock.format(new Date(time))}`;
};
