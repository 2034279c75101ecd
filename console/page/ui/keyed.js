// @ts-check
/// <reference lib="dom" />

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
