// @ts-check
/// <reference lib="dom" />
/** @import { Child, Props } from "./element.js" */
import { h } from "./element.js";

/**
 * The texts of an input.
 * @typedef {object} Asked
 * @property {string} label
 * @property {string} [description]
 * @property {boolean} [isRequired] default true
 */

/**
 * Adds label and description to an input.
 *
 * @param {Asked} asked
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @param {string} [note] beside the label
 */
export function labelled(
  { label, description, isRequired = true },
  input,
  note,
) {
  const hint = `${input.id}-hint`;
  if (description) input.setAttribute("aria-describedby", hint);
  const notes = [note, isRequired ? "" : "optional"].filter(Boolean).join(", ");
  return h(
    "p.field",
    h(
      "label",
      { for: input.id },
      h("bdi", label || "Value"),
      notes && ` (${notes})`,
    ),
    input,
    description && h("small", { id: hint }, description),
  );
}

/**
 * Makes an input with its label beside it, and more on the same line.
 *
 * @param {string} label
 * @param {HTMLInputElement} input
 * @param {...(Child | readonly Child[])} more
 */
export const inline = (label, input, ...more) =>
  h("p.field.inline", h("label", { for: input.id }, label), input, ...more);

/**
 * Makes a form; the page stays where it is when it is sent.
 *
 * @param {Props} props
 * @param {() => unknown} onSubmit
 * @param {...(Child | readonly Child[])} content
 */
export const plainForm = (props, onSubmit, ...content) =>
  h(
    "form",
    {
      ...props,
      onSubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        onSubmit();
      },
    },
    ...content,
  );

/**
 * Makes a group of inputs.
 *
 * @param {Asked} asked
 * @param {...(Child | readonly Child[])} content
 */
export const fieldset = (
  { label, description, isRequired = true },
  ...content
) =>
  h(
    "fieldset",
    h("legend", h("bdi", label), isRequired ? "" : " (optional)"),
    description && h("small", description),
    ...content,
  );

/**
 * Makes a list to choose from. Its values are positions, since a value may be empty.
 *
 * @param {string} id
 * @param {string | undefined} none the label of the first choice, with the value ""; absent without one
 * @param {readonly unknown[]} labels
 * @param {number} chosen the position of the first selection, or -1
 */
export const selectList = (id, none, labels, chosen) =>
  h(
    "select",
    { id },
    none !== undefined && h("option", { value: "" }, none),
    labels.map((label, i) =>
      h("option", { value: String(i), selected: i === chosen }, String(label))
    ),
  );
