// @ts-check
/// <reference lib="dom" />
/** @import { Context } from "../kit/page.js" */
/** @import { Tool } from "./live.js" */
import { fill, h, keyed } from "../kit/element.js";
import { empty, problem } from "../kit/parts.js";

/** The most that are shown; a filter finds the others. */
const MAX_SHOWN = 200;
/** How much of a description is on the line of its tool, in characters. */
const MAX_HINT = 300;

export const title = () => "Tools";

/**
 * @param {HTMLElement} root
 * @param {Context} context
 */
export function show(root, { api, live, signal }) {
  const count = h("p", { class: "muted", role: "status" });
  const list = h("div", { class: "tools" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "name, MCP server or description",
    onInput: () => draw(),
  });
  const nothing = empty(
    "No tool yet",
    "Tools come from MCP servers: see in the overview which of them run.",
  );
  const draw = () => {
    /** @type {readonly Tool[]} */
    const tools = live.computer?.tools ?? [];
    const wanted = filter.value.toLowerCase();
    const found = tools.filter(({ name, bundleId, description }) =>
      `${name}\n${bundleId}\n${description}`.toLowerCase().includes(wanted)
    );
    nothing.hidden = tools.length > 0;
    count.textContent = found.length > MAX_SHOWN
      ? `${found.length} tools, of which the first ${MAX_SHOWN} are shown`
      : `${found.length} of ${tools.length} tools`;
    keyed(
      list,
      found.slice(0, MAX_SHOWN),
      {
        keyOf: ({ name, bundleId, description }) =>
          JSON.stringify([name, bundleId, description]),
        make: (tool) => item(tool, () => schemaOf(tool.name)),
        update: () => {}, // what was unfolded stays
      },
    );
  };
  /** @param {string} name */
  const schemaOf = async (name) => {
    const { tools } = await api.get("tools", signal);
    const found = tools.find((/** @type {{ name: string }} */ tool) =>
      tool.name === name
    );
    return found?.params_schema ?? {};
  };
  fill(
    root,
    h("h1", {}, "Tools"),
    h(
      "p",
      { class: "field inline" },
      h("label", { for: "filter" }, "Filter"),
      filter,
      count,
    ),
    nothing,
    list,
  );
  live.subscribe(draw, signal);
}

/**
 * @param {Tool} tool
 * @param {() => Promise<unknown>} load its schema
 */
function item({ name, bundleId, description }, load) {
  const content = h("div");
  let isLoaded = false;
  const details = h(
    "details",
    {
      onToggle: async () => {
        if (!details.open || isLoaded) return;
        isLoaded = true;
        try {
          const json = JSON.stringify(await load(), undefined, 2);
          fill(content, h("pre", { tabIndex: 0 }, json));
        } catch (error) {
          isLoaded = false;
          fill(content, problem(error));
        }
      },
    },
    h(
      "summary",
      { class: "clip" },
      h("bdi", { class: "strong" }, name),
      h("span", { class: "muted" }, " of ", h("bdi", {}, bundleId)),
      h("bdi", { class: "hint muted" }, description.slice(0, MAX_HINT)),
    ),
    h("p", { class: "text" }, description),
    content,
  );
  return details;
}
