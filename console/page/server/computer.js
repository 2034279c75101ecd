// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
import { fill, h, keyed } from "../kit/element.js";
import { hashOf } from "../kit/page.js";
import { empty, loading } from "../kit/parts.js";
import { jsonView, textView } from "../kit/result.js";
import { tryTool } from "./try_tool.js";

/** The most tools that are shown; a filter finds the others. */
const MAX_SHOWN = 200;

/**
 * A tool as a Computer describes it.
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [title]
 * @property {string} description
 * @property {Record<string, unknown>} params_schema
 * @property {Record<string, unknown> | null} [meta]
 */

/** @param {Readonly<Record<string, string>>} params */
export const title = ({ computer = "", office = "" }) =>
  `${computer} in ${office}`;

/**
 * Shows a Computer: its tools, beside them its MCP servers and windows, and the tool that is tried. What
 * it answers is loaded once, and again by a button: each is a request to the machine of somebody else.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal, params }) {
  const { office = "", computer = "", tool: chosen } = params;
  const path = `offices/${encodeURIComponent(office)}/computers/${
    encodeURIComponent(computer)
  }`;
  /** @type {readonly Tool[]} */
  let tools = [];
  /** @type {Readonly<Record<string, unknown>>} */
  let servers = {};
  const counts = {
    tools: h("span", { class: "count" }),
    servers: h("span", { class: "count" }),
    windows: h("span", { class: "count" }),
  };
  const sections = [
    section({
      name: "Tools",
      count: counts.tools,
      load: () => api.get(`${path}/tools`, signal),
      signal,
      show: (content, answer) => {
        tools = answer.tools;
        counts.tools.textContent = String(tools.length);
        showTools(content);
        showServers();
      },
    }),
    section({
      name: "MCP servers",
      count: counts.servers,
      load: () => api.get(`${path}/config`, signal),
      signal,
      show: (content, answer) => {
        servers = answer.servers;
        counts.servers.textContent = String(Object.keys(servers).length);
        fill(content, serverList);
        showServers();
      },
    }),
    section({
      name: "Windows",
      count: counts.windows,
      load: () => api.get(`${path}/desktop`, signal),
      signal,
      show: (content, { desktops }) => {
        counts.windows.textContent = String(desktops.length);
        showWindows(content, desktops);
      },
    }),
  ];
  const serverList = h("div", { class: "servers" });
  const showServers = () => fill(serverList, serverItems(servers, tools));
  const panel = h("div", { class: "panel try", hidden: true });
  const [toolSection, ...others] = sections;
  const bench = h(
    "div",
    { class: "bench" },
    toolSection,
    panel,
    h("div", { class: "side" }, others),
  );
  fill(
    root,
    h(
      "p",
      { class: "path" },
      h("a", { href: "#/offices" }, "Offices"),
      " › ",
      h("a", { href: hashOf(["offices", office]) }, h("bdi", {}, office)),
      " ›",
    ),
    h("h1", {}, h("bdi", {}, computer)),
    h(
      "p",
      { class: "jump" },
      sections.map((each) => {
        const heading = each.querySelector("h2");
        return h("button", {
          type: "button",
          onClick: () => {
            each.scrollIntoView({ block: "start" });
            heading?.focus({ preventScroll: true });
          },
        }, heading?.textContent);
      }),
    ),
    bench,
  );

  /** @param {HTMLElement} content */
  function showTools(content) {
    const list = h("ul", { class: "tools" });
    const count = h("p", { class: "muted", role: "status" });
    const filter = h("input", {
      type: "search",
      id: "tool-filter",
      placeholder: "name or description",
      onInput: () => draw(),
    });
    const open = (/** @type {Tool} */ tool) => {
      panel.hidden = false;
      bench.classList.add("open");
      fill(panel, tryTool({ api, live, path, tool, signal }));
      for (const button of list.querySelectorAll("button")) {
        const isOpen = button.dataset["tool"] === tool.name;
        button.setAttribute("aria-pressed", String(isOpen));
      }
    };
    const draw = () => {
      const wanted = filter.value.toLowerCase();
      const found = tools.filter(({ name, description }) =>
        `${name}\n${description}`.toLowerCase().includes(wanted)
      );
      count.textContent = found.length > MAX_SHOWN
        ? `${found.length} tools, of which the first ${MAX_SHOWN} are shown`
        : wanted === ""
        ? ""
        : `${found.length} of ${tools.length} tools`;
      keyed(
        list,
        found.slice(0, MAX_SHOWN),
        {
          keyOf: ({ name }) => name,
          make: (tool) =>
            toolItem(tool, () => {
              open(tool);
              panel.scrollIntoView({ block: "nearest" });
              panel.querySelector("h3")?.focus({ preventScroll: true });
            }),
          update: () => {},
        },
      );
    };
    fill(
      content,
      tools.length === 0
        ? empty(
          "No tool yet",
          "Its MCP servers offer none, or are still starting.",
        )
        : [
          h(
            "p",
            { class: "field inline" },
            h("label", { for: "tool-filter" }, "Filter"),
            filter,
            count,
          ),
          list,
        ],
    );
    draw();
    const known = tools.find(({ name }) => name === chosen);
    if (known) open(known);
  }
}

/** @param {Tool} tool */
const serverOf = ({ meta }) => meta?.["a2c_mcp_server"];

/**
 * @param {Tool} tool
 * @param {() => void} onTry
 */
const toolItem = (tool, onTry) => {
  const { name, description } = tool;
  const server = serverOf(tool);
  const button = h(
    "button",
    { type: "button", "aria-pressed": "false", onClick: onTry },
    h("bdi", {}, name),
  );
  button.dataset["tool"] = name;
  return h(
    "li",
    {},
    button,
    typeof server === "string" && h("small", {}, h("bdi", {}, server)),
    h("p", { class: "muted" }, h("bdi", {}, description.slice(0, 400))),
  );
};

/**
 * @param {Readonly<Record<string, unknown>>} servers
 * @param {readonly Tool[]} tools
 */
function serverItems(servers, tools) {
  const entries = Object.entries(servers);
  if (entries.length === 0) {
    return [empty(
      "No MCP server",
      "Its owner adds them to the file that smcp-computer run reads.",
    )];
  }
  return entries.map(([name, about]) => {
    const { type, disabled } =
      /** @type {Record<string, unknown>} */ (about ?? {});
    const count = tools.filter((tool) => serverOf(tool) === name).length;
    const isOff = disabled === true;
    return h(
      "details",
      { class: "item" },
      h(
        "summary",
        {},
        h("bdi", { class: "strong" }, name),
        h(
          "span",
          { class: "muted" },
          ` ${type ?? ""} · ${count === 1 ? "1 tool" : `${count} tools`}`,
          isOff && " · disabled",
        ),
      ),
      jsonView(about),
    );
  });
}

/**
 * @param {HTMLElement} content
 * @param {readonly unknown[]} windows
 */
function showWindows(content, windows) {
  fill(
    content,
    windows.length === 0 &&
      empty(
        "No window open",
        "Windows are resources of MCP servers with a window:// address, which can be subscribed to.",
      ),
    windows.map((window) => {
      if (typeof window !== "string") return jsonView(window);
      const [, uri, text = ""] = /^(window:\S+)\s+(.*)$/s.exec(window) ?? [];
      return h(
        "figure",
        { class: "item" },
        uri && h("figcaption", { class: "muted" }, h("bdi", {}, uri)),
        textView(uri === undefined ? window : text),
      );
    }),
  );
}

/**
 * @param {object} about
 * @param {string} about.name
 * @param {HTMLElement} about.count shows how many there are
 * @param {() => Promise<any>} about.load
 * @param {(content: HTMLElement, answer: any) => void} about.show
 * @param {AbortSignal} about.signal
 */
function section({ name, count, load, show, signal }) {
  const id = `section-${name.replaceAll(" ", "-").toLowerCase()}`;
  const problems = h("div");
  const content = h("div", {}, h("p", { class: "muted" }, "Loading…"));
  const reload = loading({
    problems,
    signal,
    load: async () => {
      try {
        return await load();
      } catch (error) {
        content.replaceChildren();
        throw error;
      }
    },
    show: (answer) => show(content, answer),
  });
  return h(
    "section",
    { class: "panel", "aria-labelledby": id },
    h(
      "div",
      { class: "head" },
      h("h2", { id, tabIndex: -1 }, name, " ", count),
      h("button", {
        type: "button",
        "aria-label": `Reload ${name}`,
        onClick: () => void reload(),
      }, "Reload"),
    ),
    problems,
    content,
  );
}
