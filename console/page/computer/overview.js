// @ts-check
/// <reference lib="dom" />
/** @import { Column } from "../kit/list.js" */
/** @import { View } from "../kit/page.js" */
/** @import { Computer, Permission, Server, ComputerLive } from "./live.js" */
/** @import { Tone } from "../kit/text.js" */
import { button, fill, h, keyed } from "../kit/element.js";
import { dataTable, tableRow } from "../kit/list.js";
import { command, empty, pill, tile, tileList } from "../kit/parts.js";
import { clock } from "../kit/text.js";

/** The state of a Computer, and its MCP servers. @type {View<ComputerLive>} */
export const overview = {
  title: () => "Overview",
  show: (root, { live, signal }) => {
    const about = tileList();
    const problems = h("ul.problems");
    const body = h("tbody");
    const nothing = empty(
      "No MCP servers",
      "Add one under mcpServers to the file that smcp-computer run reads; with --watch it is started at once. To take over those of Claude Desktop, Cursor or VS Code:",
      command("smcp-computer import --help"),
    );
    const heads = ["MCP server", ...COLUMNS, "Problems"];
    const table = dataTable({ "aria-labelledby": "servers" }, heads, body);
    nothing.hidden = table.hidden = true;
    const permissions = h("ul");
    const allowed = h(
      "section",
      { "aria-labelledby": "permissions", hidden: true },
      h("h2", { id: "permissions" }, "Permissions"),
      h("p.muted", "They answer where a rule asks, until they end:"),
      permissions,
      command("smcp-computer rules remove ID"),
    );
    fill(
      root,
      h("h1", "Overview"),
      about,
      problems,
      h("h2", { id: "servers" }, "MCP servers"),
      nothing,
      table,
      allowed,
    );
    live.subscribe(() => {
      const { computer } = live;
      if (!computer) return;
      fill(about, statusTiles(computer));
      nothing.hidden = computer.servers.length > 0;
      table.hidden = !nothing.hidden;
      allowed.hidden = computer.permissions.length === 0;
      keyed(permissions, computer.permissions, {
        itemKey: ({ id, usesLeft }) => `${id} ${usesLeft}`,
        make: permissionItem,
        update: () => {},
      });
      keyed(problems, computer.problems, {
        itemKey: (text) => text,
        make: (text) => h("li.problem", text),
      });
      keyed(body, computer.servers, {
        itemKey: ({ bundleId }) => bundleId,
        make: (server) =>
          tableRow(
            h("bdi", server.label),
            COLUMNS,
            server,
            problemsCell(server),
          ),
      });
    }, signal);
  },
};

/** @param {Permission} permission */
const permissionItem = ({ id, covers, usesLeft, untilMs }) =>
  h(
    "li",
    h("bdi", covers),
    h(
      "span.muted",
      usesLeft !== undefined && ` ${usesLeft} left,`,
      untilMs !== undefined && ` until ${clock.format(new Date(untilMs))},`,
      ` ID ${id}`,
    ),
  );

/** @param {Computer} computer */
function statusTiles(computer) {
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

/** @type {readonly Column<Server>[]} */
const COLUMNS = [
  [
    "State",
    ({ state, does, restarts }) => [
      h("span", { title: does }, pill(STATE_CLASSES[state], state)),
      restarts > 0 && h("small", ` restarted ${restarts} times`),
      does === `is ${state}` ? "" : h("small", ` ${nextStart(does)}`),
    ],
    "",
  ],
  ["Type", ({ type }) => type, "short"],
  ["Tools", ({ tools }) => tools, "number"],
];

/** Makes the cell of problems; a button alone needs no label. @param {Server} server */
const problemsCell = ({ problems, authorizeAt }) =>
  h(
    "td.texts",
    { "data-label": problems.length > 0 ? "Problems" : undefined },
    problems.map((text) => h("p", text)),
    authorizeAt && authorize(authorizeAt),
  );

/**
 * Offers the page where a person authorizes the Computer. It belongs to others, so that it gets no
 * window of this one and no referrer.
 *
 * @param {string} address
 */
const authorize = (address) =>
  button(
    "Authorize in the browser",
    () => open(address, "_blank", "noopener,noreferrer"),
  );

/** @param {string} does such as `is failed; the next attempt to start it is at 2026-…` */
const nextStart = (does) => {
  const [, time = ""] = / at (\S+)$/.exec(does) ?? [];
  return time === "" ? "" : `again at ${clock.format(new Date(time))}`;
};
