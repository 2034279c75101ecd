// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { ServerLive } from "./live.js" */
/** @import { Tried } from "./try_tool.js" */
import { button, buttonFor, fill, h, link } from "../kit/element.js";
import { createList } from "../kit/list.js";
import { breadcrumbs, empty, loading, panel } from "../kit/parts.js";
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
 * A Computer: its tools, beside them its MCP servers and windows, and the tool that is tried. Each part is
 * loaded once, and again by a button, as each is a request to another person's machine.
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
    /** @param {string} part */
    const get = (part) => () => api.get(`${path}/${part}`, signal);
    const panel = new ToolPanel({ api, live, path, signal });
    const list = h("div.servers");
    /** @type {Loaded} */
    const loaded = { servers: {}, tools: [] };
    /** @param {Partial<Loaded>} part of what is loaded apart */
    const showServers = (part) =>
      fill(list, serverItems(Object.assign(loaded, part)));
    const tools = section("Tools", signal, get("tools"), (content, answer) => {
      showTools(content, answer, panel, chosen);
      showServers({ tools: answer.tools });
      return answer.tools.length;
    });
    const others = [
      section("MCP servers", signal, get("config"), (content, answer) => {
        fill(content, list);
        showServers({ servers: answer.servers });
        return Object.keys(answer.servers).length;
      }),
      section("Windows", signal, get("desktop"), (content, { desktops }) => {
        showWindows(content, desktops);
        return desktops.length;
      }),
    ];
    fill(
      root,
      breadcrumbs(
        link(["offices"], "Offices"),
        link(["offices", office], office),
      ),
      h("h1", h("bdi", computer)),
      h("p.jump", [tools, ...others].map(jumpTo)),
      h("div.bench", tools, panel.element, h("div.side", others)),
    );
  },
};

/** The panel in which a tool is tried, beside the list of tools. */
class ToolPanel {
  element = h("div.panel.try", { hidden: true });
  #context;

  /** @param {Omit<Tried, "tool">} context */
  constructor(context) {
    this.#context = context;
  }

  /** @param {Tool} tool */
  open(tool) {
    this.element.hidden = false;
    this.element.parentElement?.classList.add("open");
    fill(this.element, tryTool({ ...this.#context, tool }));
  }

  focus() {
    this.element.scrollIntoView({ block: "nearest" });
    this.element.querySelector("h3")?.focus({ preventScroll: true });
  }
}

/**
 * Shows the tools of a Computer.
 *
 * @param {HTMLElement} content
 * @param {{ tools: readonly Tool[], problems?: readonly string[] }} answer with the reasons why tools are left out
 * @param {ToolPanel} panel
 * @param {string | undefined} chosen the name of the tool that is open at first
 */
function showTools(content, { tools, problems = [] }, panel, chosen) {
  const body = h("ul.tools");
  /** @param {Tool} tool */
  const open = (tool) => {
    panel.open(tool);
    for (const button of body.querySelectorAll("button")) {
      const isOpen = button.dataset["tool"] === tool.name;
      button.setAttribute("aria-pressed", String(isOpen));
    }
  };
  const list = createList({
    noun: "tools",
    body,
    placeholder: "name or description",
    items: () => tools,
    searchText: ({ name, description }) => `${name}\n${description}`,
    itemKey: ({ name }) => name,
    make: (tool) =>
      toolItem(tool, () => {
        open(tool);
        panel.focus();
      }),
    update: () => {},
  });
  const nothing = empty(
    "No tools yet",
    "Its MCP servers have none, or are still starting.",
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

/** Makes a button that leads to a section. @param {HTMLElement} section */
function jumpTo(section) {
  const heading = section.querySelector("h2");
  return button(heading?.textContent, () => {
    section.scrollIntoView({ block: "start" });
    heading?.focus({ preventScroll: true });
  });
}

/** @param {Tool} tool */
const serverName = ({ meta }) => meta?.["a2c_mcp_server"];

/**
 * @param {Tool} tool
 * @param {() => void} onTry
 */
const toolItem = (tool, onTry) => {
  const { name, description } = tool;
  const server = serverName(tool);
  return h(
    "li",
    button(h("bdi", name), onTry, {
      class: "plain",
      "aria-pressed": "false",
      "data-tool": name,
    }),
    typeof server === "string" && h("small", h("bdi", server)),
    h("p.muted", h("bdi", description.slice(0, 400))),
  );
};

/** @typedef {{ servers: Readonly<Record<string, unknown>>, tools: readonly Tool[] }} Loaded */

/** Makes the MCP servers of a Computer, each with the number of its tools. @param {Loaded} loaded */
function serverItems({ servers, tools }) {
  const entries = Object.entries(servers);
  if (entries.length === 0) {
    return [empty(
      "No MCP servers",
      "Its owner adds them to the file that smcp-computer run reads.",
    )];
  }
  return entries.map(([name, about]) => {
    const { type, disabled } =
      /** @type {Record<string, unknown>} */ (about ?? {});
    const count = tools.filter((tool) => serverName(tool) === name).length;
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
        "No windows",
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
