// @ts-check
/// <reference lib="dom" />
/** @import { View } from "../kit/page.js" */
/** @import { Tool, ComputerLive } from "./live.js" */
import { fill, h } from "../kit/element.js";
import { createList } from "../kit/list.js";
import { empty, jsonText, lazilyFolded } from "../kit/parts.js";

/** How much of a description is on the line of its tool, in characters. */
const MAX_HINT = 300;

/** The tools of a Computer, whose schemas are loaded as they are unfolded. @type {View<ComputerLive>} */
export const tools = {
  title: () => "Tools",
  show: (root, { api, live, signal }) => {
    const body = h("div.tools");
    const nothing = empty(
      "No tools yet",
      "Tools come from MCP servers: the overview shows which of them run.",
    );
    /** @param {string} name */
    const loadSchema = async (name) => {
      const { tools } = await api.get("tools", signal);
      const found = tools.find((/** @type {Tool} */ tool) =>
        tool.name === name
      );
      return found?.params_schema ?? {};
    };
    const list = createList({
      noun: "tools",
      body,
      nothing,
      placeholder: "name, MCP server or description",
      items: () => live.computer?.tools ?? [],
      searchText: ({ name, bundleId, description }) =>
        `${name}\n${bundleId}\n${description}`,
      itemKey: ({ name, bundleId, description }) =>
        JSON.stringify([name, bundleId, description]),
      make: (tool) => item(tool, () => loadSchema(tool.name)),
      update: () => {}, // unfolded parts stay
    });
    fill(root, h("h1", "Tools"), list.bar(), nothing, body);
    live.subscribe(list.draw, signal);
  },
};

/**
 * @param {Tool} tool
 * @param {() => Promise<unknown>} load its schema
 */
const item = ({ name, bundleId, description }, load) =>
  lazilyFolded(
    h(
      "summary.clip",
      h("bdi.strong", name),
      h("span.muted", " of ", h("bdi", bundleId)),
      h("bdi.hint.muted", description.slice(0, MAX_HINT)),
    ),
    async () => jsonText(await load(), "Schema of the arguments"),
    h("p.text", description),
  );
