// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../ui/shell.js" */
import { fill, h } from "../ui/element.js";
import { keyed } from "../ui/keyed.js";
import { jsonView } from "../ui/json_view.js";
import { loading } from "../ui/loading.js";
import { textView } from "../ui/result.js";
import { hashOf } from "../routes.js";
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
 * Shows a Computer. Its answers are asked for once, and again by a button: each is a question to the
 * machine of somebody else.
 *
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, signal, params }) {
  const { office = "", computer = "", tool: chosen } = params;
  const path = `offices/${encodeURIComponent(office)}/computers/${
    encodeURIComponent(computer)
  }`;
  fill(
    root,
    h(
      "p",
      { class: "path" },
      h("a", { href: "#/offices" }, "Offices"),
      " › ",
      h("a", { href: hashOf(["offices", office]) }, h("bdi", {}, office)),
      " › ",
    ),
    h("h1", {}, h("bdi", {}, computer)),
    section({
      name: "Tools",
      load: () => api.get(`${path}/tools`, signal),
      signal,
      show: (content, { tools }) => showTools(content, tools),
    }),
    section({
      name: "MCP servers",
      load: () => api.get(`${path}/config`, signal),
      signal,
      show: (content, { servers }) => showServers(content, servers),
    }),
    section({
      name: "Desktop",
      load: () => api.get(`${path}/desktop`, signal),
      signal,
      show: (content, { desktops }) => showDesktop(content, desktops),
    }),
  );

  /**
   * @param {HTMLElement} content
   * @param {readonly Tool[]} tools
   */
  function showTools(content, tools) {
    const panel = h("div", { class: "try" });
    const list = h("ul", { class: "tools" });
    const count = h("p", { class: "muted", role: "status" });
    const filter = h("input", {
      type: "search",
      id: "tool-filter",
      placeholder: "name or description",
      onInput: () => draw(),
    });
    const open = (/** @type {Tool} */ tool) =>
      fill(panel, tryTool({ api, path, tool, signal }));
    const draw = () => {
      const wanted = filter.value.toLowerCase();
      const found = tools.filter(({ name, description }) =>
        `${name}\n${description}`.toLowerCase().includes(wanted)
      );
      count.textContent = `${found.length} of ${tools.length} tools${
        found.length > MAX_SHOWN
          ? `, of which the first ${MAX_SHOWN} are shown`
          : ""
      }`;
      keyed(list, found.slice(0, MAX_SHOWN), ({ name }) => name, (tool) =>
        h(
          "li",
          {},
          h("button", {
            type: "button",
            "aria-label": `Try ${tool.name}`,
            onClick: () => {
              open(tool);
              panel.scrollIntoView({ block: "nearest" });
              panel.querySelector("h3")?.focus();
            },
          }, "Try"),
          h(
            "div",
            {},
            h("strong", {}, h("bdi", {}, tool.name)),
            h(
              "p",
              { class: "muted" },
              h("bdi", {}, tool.description.slice(0, 400)),
            ),
          ),
        ));
    };
    fill(
      content,
      h(
        "p",
        { class: "field inline" },
        h("label", { for: "tool-filter" }, "Filter"),
        filter,
      ),
      count,
      h("div", { class: "columns" }, list, panel),
    );
    draw();
    const known = tools.find(({ name }) => name === chosen);
    if (known) open(known);
  }
}

/**
 * @param {HTMLElement} content
 * @param {Readonly<Record<string, unknown>>} servers
 */
function showServers(content, servers) {
  const entries = Object.entries(servers);
  fill(
    content,
    entries.length === 0 && h("p", { class: "muted" }, "It has no MCP server."),
    entries.map(([name, about]) => {
      const { type, disabled } =
        /** @type {Record<string, unknown>} */ (about ?? {});
      return h(
        "details",
        {},
        h(
          "summary",
          {},
          h("bdi", {}, name),
          " ",
          h(
            "span",
            { class: "muted" },
            `${type ?? ""}${disabled === true ? ", disabled" : ""}`,
          ),
        ),
        jsonView(about),
      );
    }),
  );
}

/**
 * @param {HTMLElement} content
 * @param {readonly unknown[]} windows
 */
function showDesktop(content, windows) {
  fill(
    content,
    windows.length === 0 &&
      h("p", { class: "muted" }, "It has no windows open."),
    windows.map((window) =>
      typeof window === "string" ? textView(window) : jsonView(window)
    ),
  );
}

/**
 * @param {object} about
 * @param {string} about.name
 * @param {() => Promise<any>} about.load
 * @param {(content: HTMLElement, answer: any) => void} about.show
 * @param {AbortSignal} about.signal
 */
function section({ name, load, show, signal }) {
  const id = `section-${name.replaceAll(" ", "-").toLowerCase()}`;
  const problems = h("div");
  const content = h("div", {}, h("p", { class: "muted" }, "Asking…"));
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
    { "aria-labelledby": id },
    h(
      "div",
      { class: "head" },
      h("h2", { id }, name),
      h("button", {
        type: "button",
        "aria-label": `Ask again for ${name}`,
        onClick: () => void reload(),
      }, "Ask again"),
    ),
    problems,
    content,
  );
}
