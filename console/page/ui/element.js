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
