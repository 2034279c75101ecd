// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { Computer, Server } from "./live.js" */
/** @import { Tone } from "../kit/text.js" */
import { fill, h, keyed } from "../kit/element.js";
import { tableOf } from "../kit/list.js";
import { command, empty, pill, tile, tileList } from "../kit/parts.js";
import { clock } from "../kit/text.js";

/** How a Computer is, and its MCP servers. @type {View} */
export const overview = {
  title: () => "Overview",
  show: (root, { live, signal }) => {
    const about = tileList();
    const problems = h("ul.problems");
    const body = h("tbody");
    const nothing = empty(
      "No MCP server",
      "Add one under mcpServers to the file that smcp-computer run reads; with --watch it is started at once. To take over those of Claude Desktop, Cursor or VS Code:",
      command("smcp-computer import --help"),
    );
    const heads = ["MCP server", "State", "Type", "Tools", "Problems"];
    const table = tableOf({ "aria-labelledby": "servers" }, heads, body);
    nothing.hidden = table.hidden = true;
    fill(
      root,
      h("h1", "Overview"),
      about,
      problems,
      h("h2", { id: "servers" }, "MCP servers"),
      nothing,
      table,
    );
    live.subscribe(() => {
      /** @type {Computer | undefined} */
      const computer = live.computer;
      if (!computer) return;
      fill(about, tilesOf(computer));
      nothing.hidden = computer.servers.length > 0;
      table.hidden = !nothing.hidden;
      keyed(problems, computer.problems, {
        keyOf: (text) => text,
        make: (text) => h("li.problem", text),
      });
      keyed(body, computer.servers, {
        keyOf: ({ bundleId }) => bundleId,
        make: (server) => h("tr", cells(server)),
      });
    }, signal);
  },
};

/** @param {Computer} computer */
function tilesOf(computer) {
  const { name, connection, protocol, office, url, skills, servers, tools } =
    computer;
  const running = servers.filter(({ state }) => state === "running").length;
  return [
    tile("Name", name),
    tile("Office", office ?? "none"),
    tile("MCP servers running", `${running} of ${servers.length}`),
    tile("Tools", tools.length),
    skills.length > 0 && tile("Skills", skills.length, skills.join(", ")),
    tile(
      "Server",
      pill(connection === "connected" ? "good" : "warn", connection),
      h("bdi", ` to ${url}, A2C-SMCP ${protocol}`),
    ),
  ];
}

/** The look of each state. @type {Record<Server["state"], Tone>} */
const STATE_CLASSES = {
  running: "good",
  starting: "warn",
  restarting: "warn",
  failed: "bad",
  stopped: "muted",
  disabled: "muted",
};

/** @param {Server} server */
const cells = (
  { label, state, does, type, tools, restarts, problems, authorizeAt },
) => [
  h("th", { scope: "row" }, h("bdi", label)),
  h(
    "td",
    { "data-label": "State", title: does },
    pill(STATE_CLASSES[state], state),
    restarts > 0 && h("small", ` restarted ${restarts} times`),
    does === `is ${state}` ? "" : h("small", ` ${nextStart(does)}`),
  ),
  h("td.short", { "data-label": "Type" }, type),
  h("td.number", { "data-label": "Tools" }, String(tools)),
  h(
    "td.texts",
    { "data-label": problems.length > 0 ? "Problems" : undefined },
    problems.map((text) => h("p", text)),
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
