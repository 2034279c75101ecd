// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
import { button, buttonFor, fill, h, link } from "../kit/element.js";
import { createList } from "../kit/list.js";
import { empty, loading, panel, pathOf } from "../kit/parts.js";
import { jsonView, textView } from "../kit/result.js";
import { tryTool } from "./try_tool.js";

/**
 * A tool as a Computer describes it.
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} [title]
 * @property {string} description
 * @property {Record<string, unknown>} params_schema
 * @property {Record<string, unknown> | null} [meta]
 */

/**
 * A Computer: its tools, beside them its MCP servers and windows, and the tool that is tried. What it
 * answers is loaded once, and again by a button: each is a request to the machine of somebody else.
 *
 * @type {View<ServerLive>}
 */
export const computer = {
  title: ({ computer = "", office = "" }) => `${computer} in ${office}`,
  show: (root, { api, live, signal, params }) => {
    const { office = "", computer = "", tool: chosen } = params;
    const path = `offices/${encodeURIComponent(office)}/computers/${
      encodeURIComponent(computer)
    }`;
    /** @type {readonly Tool[]} */
    let tools = [];
    /** @type {Readonly<Record<string, unknown>>} */
    let servers = {};
    const serverList = h("div.servers");
    const showServers = () => fill(serverList, serverItems(servers, tools));
    /** @param {string} part */
    const get = (part) => () => api.get(`${path}/${part}`, signal);
    const toolSection = section(
      "Tools",
      signal,
      get("tools"),
      (content, answer) => {
        tools = answer.tools;
        showTools(content, answer.problems);
        showServers();
        return tools.length;
      },
    );
    const others = [
      section("MCP servers", signal, get("config"), (content, answer) => {
        servers = answer.servers;
        fill(content, serverList);
        showServers();
        return Object.keys(servers).length;
      }),
      section("Windows", signal, get("desktop"), (content, { desktops }) => {
        showWindows(content, desktops);
        return desktops.length;
      }),
    ];
    const tried = h("div.panel.try", { hidden: true });
    const bench = h("div.bench", toolSection, tried, h("div.side", others));
    fill(
      root,
      pathOf(link(["offices"], "Offices"), link(["offices", office], office)),
      h("h1", h("bdi", computer)),
      h("p.jump", [toolSection, ...others].map(jumpTo)),
      bench,
    );

    /**
     * @param {HTMLElement} content
     * @param {readonly string[]} [problems] which tools are left out, and why
     */
    function showTools(content, problems = []) {
      const body = h("ul.tools");
      const open = (/** @type {Tool} */ tool) => {
        tried.hidden = false;
        bench.classList.add("open");
        fill(tried, tryTool({ api, live, path, tool, signal }));
        for (const button of body.querySelectorAll("button")) {
          const isOpen = button.dataset["tool"] === tool.name;
          button.setAttribute("aria-pressed", String(isOpen));
        }
      };
      const list = createList({
        noun: "tools",
        which: "first",
        most: 200,
        body,
        placeholder: "name or description",
        items: () => tools,
        textOf: ({ name, description }) => `${name}\n${description}`,
        keyOf: ({ name }) => name,
        make: (tool) =>
          toolItem(tool, () => {
            open(tool);
            tried.scrollIntoView({ block: "nearest" });
            tried.querySelector("h3")?.focus({ preventScroll: true });
          }),
        update: () => {},
      });
      const nothing = empty(
        "No tool yet",
        "Its MCP servers offer none, or are still starting.",
      );
      fill(
        content,
        problems.map((text) => h("p.problem", text)),
        tools.length === 0 ? nothing : [list.bar(), body],
      );
      list.draw();
      const known = tools.find(({ name }) => name === chosen);
      if (known) open(known);
    }
  },
};

/** Makes a button that leads to a section. @param {HTMLElement} section */
function jumpTo(section) {
  const heading = section.querySelector("h2");
  return button(heading?.textContent, () => {
    section.scrollIntoView({ block: "start" });
    heading?.focus({ preventScroll: true });
  });
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
  return h(
    "li",
    button(h("bdi", name), onTry, {
      "aria-pressed": "false",
      "data-tool": name,
    }),
    typeof server === "string" && h("small", h("bdi", server)),
    h("p.muted", h("bdi", description.slice(0, 400))),
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
      "details.item",
      h(
        "summary",
        h("bdi.strong", name),
        h(
          "span.muted",
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
        "figure.item",
        uri && h("figcaption.muted", h("bdi", uri)),
        textView(uri === undefined ? window : text),
      );
    }),
  );
}

/**
 * @param {string} name
 * @param {AbortSignal} signal
 * @param {() => Promise<any>} load
 * @param {(content: HTMLElement, answer: any) => number} show returns how many there are
 */
function section(name, signal, load, show) {
  const id = `section-${name.replaceAll(" ", "-").toLowerCase()}`;
  const count = h("span.count");
  const problems = h("div");
  const content = h("div", h("p.muted", "Loading…"));
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
    show: (answer) => count.textContent = String(show(content, answer)),
  });
  const again = buttonFor("Reload", name, reload);
  return panel(id, [name, " ", count], again, problems, content);
}
