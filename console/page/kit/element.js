// @ts-check
/// <reference lib="dom" />

/**
 * What an element may have as a child; `undefined`, `null` and `false` are left out.
 * @typedef {Node | string | number | false | null | undefined} Child
 */

/**
 * Makes an element. Whatever comes from outside becomes text or the value of a property, never markup.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, unknown>>} [props] `class`, `on…` listeners, `aria-…`, `data-…`, `role`
 * and `for` as attributes, all others as properties; what is `undefined` is left out
 * @param {...(Child | readonly Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(
        name.slice(2).toLowerCase(),
        (event) => value(event),
      );
    } else if (name === "href") {
      if (!String(value).startsWith("#")) {
        throw new TypeError("A link leads to a view of this page");
      }
      element.setAttribute("href", String(value));
    } else if (
      name === "class" || name === "for" || name === "role" ||
      name.includes("-")
    ) {
      element.setAttribute(name, String(value));
    } else {
      Reflect.set(element, name, value);
    }
  }
  element.append(...nodesOf(children));
  return element;
}

/**
 * Makes an element of a drawing; its attributes have the names of SVG.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | number>>} [attributes]
 * @param {...(Child | readonly Child[])} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  element.append(...nodesOf(children));
  return element;
}

/**
 * Replaces what an element contains.
 *
 * @param {Element} element
 * @param {...(Child | readonly Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodesOf(children));
}

/**
 * @param {readonly (Child | readonly Child[])[]} children
 * @returns {(Node | string)[]}
 */
const nodesOf = (children) =>
  children.flat().filter((child) =>
    child !== undefined && child !== null && child !== false
  )
    .map((child) => child instanceof Node ? child : String(child));

/** The elements of each list by their keys. @type {WeakMap<Element, Map<string, HTMLElement>>} */
const lists = new WeakMap();

/**
 * Makes the children of an element those of a list. What stays keeps its element, and with it focus,
 * selection and what is unfolded.
 *
 * @template Item
 * @param {Element} container
 * @param {readonly Item[]} items
 * @param {object} element
 * @param {(item: Item) => string} element.keyOf unique in the list
 * @param {(item: Item) => HTMLElement} element.make
 * @param {(element: HTMLElement, item: Item) => void} [element.update] for one that stays; by default
 * its children that differ from those of a new one are replaced
 */
export function keyed(
  container,
  items,
  { keyOf, make, update = (element, item) => renew(element, make(item)) },
) {
  const before = lists.get(container) ?? new Map();
  /** @type {Map<string, HTMLElement>} */
  const after = new Map();
  for (const item of items) {
    const key = keyOf(item);
    const known = before.get(key);
    if (known) update(known, item);
    after.set(key, known ?? make(item));
  }
  lists.set(container, after);
  for (const [key, element] of before) {
    if (!after.has(key)) element.remove();
  }
  let next = container.firstElementChild;
  for (const element of after.values()) {
    if (element === next) next = next.nextElementSibling;
    else container.insertBefore(element, next);
  }
}

/**
 * @param {Element} element
 * @param {Element} made
 */
function renew(element, made) {
  const children = [...made.children];
  for (const [i, child] of [...element.children].entries()) {
    const other = children[i];
    if (other && !child.isEqualNode(other)) child.replaceWith(other);
  }
}
