// @ts-check
/// <reference lib="dom" />
import { plainText } from "../../../shared/shown_text.ts";

/**
 * A child of an element; `undefined`, `null` and `false` are left out.
 * @typedef {Node | string | number | false | null | undefined} Child
 *
 * `on…` listeners, and `aria-…`, `data-…`, `role` and `for` as attributes; all others are properties.
 * Those that are `undefined` are left out.
 * @typedef {Readonly<Record<string, unknown>>} Props
 */

/**
 * The element of a name such as `p.muted`.
 * @template {string} Name
 * @typedef {Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name]
 *   : Name extends `${infer Tag extends keyof HTMLElementTagNameMap}.${string}` ? HTMLElementTagNameMap[Tag]
 *   : never} ElementOf
 */

/**
 * Makes an element. Whatever comes from outside becomes text or the value of a property, never markup;
 * what cannot be seen in a text is shown by its name.
 *
 * @template {string} Name
 * @param {Name} name a tag, and classes after dots: `p.field.inline`
 * @param {...(Props | Child | readonly Child[])} parts properties at most at first, then children
 * @returns {ElementOf<Name>}
 */
export function h(name, ...parts) {
  const [tag = "", ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  const props = isProps(parts[0]) ? parts[0] : {};
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (key.startsWith("on") && typeof value === "function") {
      element.addEventListener(
        key.slice(2).toLowerCase(),
        (event) => value(event),
      );
    } else if (key === "href") {
      if (!String(value).startsWith("#")) {
        throw new TypeError("A link leads to a view of this page");
      }
      element.setAttribute("href", String(value));
    } else if (/^(class|for|role)$|-/.test(key)) {
      element.setAttribute(key, shownText(value));
    } else {
      Reflect.set(element, key, SHOWN.has(key) ? shownText(value) : value);
    }
  }
  element.append(
    ...toNodes(props === parts[0] ? parts.slice(1) : parts, keptIn(element)),
  );
  return /** @type {ElementOf<Name>} */ (element);
}

/** Properties that are texts for people. */
const SHOWN = new Set(["title", "alt", "placeholder"]);

/**
 * Returns the characters that stay in the text of an element: elsewhere than here a line break would look
 * like a space.
 *
 * @param {Element} element
 */
const keptIn = ({ tagName }) => tagName === "PRE" ? "\n\t" : "";

/**
 * Adds a text of others to an element.
 *
 * @param {Element} element
 * @param {string} text
 */
export const addText = (element, text) =>
  element.append(plainText(text, keptIn(element)));

/** A longer text is cut: a browser lays out all of it. {@linkcode addText} takes any. */
const MAX_TEXT = 20_000;

/**
 * Shows odd characters of a text by their names, and cuts a long text.
 *
 * @param {unknown} value
 * @param {string} [kept] characters that stay
 */
export function shownText(value, kept = "") {
  const text = String(value);
  return text.length > MAX_TEXT
    ? `${plainText(text.slice(0, MAX_TEXT), kept)}…`
    : plainText(text, kept);
}

/**
 * Makes an element of a drawing; its attributes have the names of SVG.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | number>>} [attributes]
 * @param {...(Child | readonly Child[])} children
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  element.append(...toNodes(children, ""));
  return element;
}

/**
 * Makes a button.
 *
 * @param {Child} text
 * @param {() => unknown} onClick
 * @param {Props} [props]
 */
export const button = (text, onClick, props = {}) =>
  h("button", { type: "button", onClick: () => onClick(), ...props }, text);

/**
 * Makes a button of which many have the same text: screen readers read its target, too.
 *
 * @param {string} text
 * @param {string} target
 * @param {() => unknown} onClick
 */
export const buttonFor = (text, target, onClick) =>
  button(text, onClick, { "aria-label": `${text} ${target}` });

/**
 * Writes the part of the address after `#`.
 *
 * @param {readonly string[]} segments
 */
export const viewHash = (segments) =>
  `#/${segments.map(encodeURIComponent).join("/")}`;

/**
 * Makes a link to a view.
 *
 * @param {readonly string[]} segments of its address
 * @param {string} text
 */
export const link = (segments, text) =>
  h("a", { href: viewHash(segments) }, h("bdi", text));

/**
 * Replaces the content of an element.
 *
 * @param {Element} element
 * @param {...(Child | readonly Child[])} children
 */
export const fill = (element, ...children) =>
  element.replaceChildren(...toNodes(children, keptIn(element)));

/**
 * @param {unknown} part
 * @returns {part is Props}
 */
const isProps = (part) =>
  typeof part === "object" && part !== null && !Array.isArray(part) &&
  !(part instanceof Node);

/**
 * @param {readonly unknown[]} children
 * @param {string} kept characters that stay
 */
const toNodes = (children, kept) =>
  children.flat().filter((child) =>
    child !== undefined && child !== null && child !== false
  )
    .map((child) => child instanceof Node ? child : shownText(child, kept));

/** The elements of each list by their keys. @type {WeakMap<Element, Map<string, HTMLElement>>} */
const lists = new WeakMap();

/**
 * Makes the children of an element those of a list. What stays keeps its element, and with it focus,
 * selection and unfolded parts.
 *
 * @template Item
 * @param {Element} container
 * @param {readonly Item[]} items
 * @param {object} element
 * @param {(item: Item) => string} element.itemKey unique in the list
 * @param {(item: Item) => HTMLElement} element.make
 * @param {(element: HTMLElement, item: Item) => void} [element.update] for one that stays; by default
 * its children that differ from those of a new one are replaced
 */
export function keyed(
  container,
  items,
  { itemKey, make, update = (element, item) => renew(element, make(item)) },
) {
  const before = lists.get(container) ?? new Map();
  /** @type {Map<string, HTMLElement>} */
  const after = new Map();
  for (const item of items) {
    const key = itemKey(item);
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
 * Replaces the children of an element that differ from those of another.
 *
 * @param {Element} element
 * @param {Element} made
 */
export function renew(element, made) {
  const children = [...made.children];
  for (const [i, child] of [...element.children].entries()) {
    const other = children[i];
    if (other && !child.isEqualNode(other)) child.replaceWith(other);
  }
}
