// @ts-check
/// <reference lib="dom" />
/** @import { Child, Props } from "./element.js" */
import { h, keyed } from "./element.js";
import { inline } from "./fields.js";

/**
 * A column: its head, the value of an item, and the class of the cell where that is no name.
 *
 * @template Item
 * @typedef {readonly [
 *   head: string,
 *   value: (item: Item) => Child | readonly Child[],
 *   look?: string | ((item: Item) => string),
 * ]} Column
 */

/**
 * Makes the cells of an item.
 *
 * @template Item
 * @param {readonly Column<Item>[]} columns
 * @param {Item} item
 */
const rowCells = (columns, item) =>
  columns.map(([head, value, look]) =>
    h(
      "td",
      {
        "data-label": head,
        class: (typeof look === "function" ? look(item) : look) || undefined,
      },
      look === undefined ? h("bdi", value(item)) : value(item),
    )
  );

/**
 * Makes the row of an item.
 *
 * @template Item
 * @param {Child | readonly Child[]} name
 * @param {readonly Column<Item>[]} columns
 * @param {Item} item
 * @param {...Child} more cells
 */
export const tableRow = (name, columns, item, ...more) =>
  h("tr", h("th", { scope: "row" }, name), rowCells(columns, item), more);

/**
 * Makes a table, which becomes cards on a telephone.
 *
 * @param {Props} props
 * @param {readonly (string | HTMLElement | Column<any>)[]} heads
 * @param {HTMLElement} body
 */
export const dataTable = (props, heads, body) =>
  h(
    "table",
    { class: "cards", ...props },
    h(
      "thead",
      h(
        "tr",
        heads.map((head) =>
          head instanceof HTMLElement ? head : h(
            "th",
            { scope: "col" },
            typeof head === "string" ? head : head[0],
          )
        ),
      ),
    ),
    body,
  );

/**
 * Makes a list that a person filters by words: the field, how many items fit, and an element for each.
 *
 * @template Item
 * @param {object} about
 * @param {string} about.noun such as `calls`
 * @param {string} about.placeholder of the field
 * @param {() => readonly Item[]} about.items in the order in which they are shown
 * @param {(item: Item) => string} about.searchText the text that is searched
 * @param {(item: Item) => boolean} [about.fits] of those that may be shown; default all
 * @param {"first" | "latest"} [about.which] of them are shown where they are many; default the first
 * @param {number} [about.most] that are shown
 * @param {HTMLElement} about.body contains the elements
 * @param {HTMLElement} [about.nothing] is shown instead where there are no items
 * @param {HTMLElement} [about.whole] is hidden then
 * @param {(item: Item) => string} about.itemKey unique in the list
 * @param {(item: Item) => HTMLElement} about.make
 * @param {(element: HTMLElement, item: Item) => void} [about.update] as of `keyed()`
 * @param {(shown: readonly Item[]) => void} [about.drawn] called after all of that
 */
export function createList(about) {
  const { noun, placeholder, items, searchText, body } = about;
  const { which = "first", most = 200, fits = () => true } = about;
  const { nothing, whole, drawn } = about;
  const count = h("p.muted", { role: "status" });
  const draw = () => {
    const all = items();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter((item) => {
      if (!fits(item)) return false;
      const text = words.length === 0 ? "" : searchText(item).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const shown = found.slice(0, most);
    if (nothing) nothing.hidden = all.length > 0;
    if (whole) whole.hidden = all.length === 0;
    count.textContent = found.length > most
      ? `${found.length} ${noun}, of which the ${which} ${most} are shown`
      : `${found.length} of ${all.length} ${noun}`;
    keyed(body, shown, about);
    drawn?.(shown);
  };
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder,
    onInput: draw,
  });
  /** @param {...Child} more beside the field */
  const bar = (...more) => inline("Filter", filter, more, count);
  return { bar, draw };
}
