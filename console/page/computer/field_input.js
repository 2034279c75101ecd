// @ts-check
/// <reference lib="dom" />
/** @import { Field } from "./live.js" */
import { h } from "../ui/element.js";

/**
 * What a person typed or chose; `undefined` for nothing.
 * @typedef {string | number | boolean | string[] | undefined} Value
 */

/** Kinds of text that browsers have an input for. */
const TEXT_TYPES = new Map([["email", "email"], ["uri", "url"], [
  "date",
  "date",
]]);

/**
 * Makes the input of a field.
 *
 * @param {Field} field
 * @param {string} id unique on the page together with the field's name
 * @returns {{ element: HTMLElement, read: () => Value }}
 */
export function inputOf(field, id) {
  const own = `${id}-${field.name}`;
  switch (field.kind) {
    case "choice":
    case "boolean":
      return select(field, own);
    case "choices":
      return checkboxes(field, own);
    default:
      return typed(field, own);
  }
}

/**
 * @param {Field} field
 * @param {string} own
 */
function typed(field, own) {
  const { kind, isSecret, format = "", default: fallback } = field;
  const isNumber = kind === "number";
  const input = h("input", {
    id: own,
    type: isSecret
      ? "password"
      : isNumber
      ? "number"
      : TEXT_TYPES.get(format) ?? "text",
    autocomplete: "off",
    spellcheck: false,
    ...isNumber && { step: field.isInteger ? "1" : "any" },
    ...fallback !== undefined && { value: String(fallback) },
    "aria-describedby": field.description === undefined
      ? undefined
      : `${own}-hint`,
    "aria-required": field.isRequired,
  });
  return {
    element: labelled(field, own, input),
    read: () =>
      input.value === ""
        ? undefined
        : isNumber
        ? Number(input.value)
        : input.value,
  };
}

/**
 * @param {Field} field
 * @param {string} own
 */
function select(field, own) {
  const isBoolean = field.kind === "boolean";
  const options = isBoolean
    ? [{ value: "true", label: "Yes" }, { value: "false", label: "No" }]
    : field.options ?? [];
  const fallback = field.default === undefined
    ? undefined
    : String(field.default);
  const list = h(
    "select",
    { id: own },
    h("option", { value: "" }, "(no answer)"),
    // By position: a value may be empty.
    options.map(({ value, label }, i) =>
      h("option", { value: String(i), selected: value === fallback }, label)
    ),
  );
  return {
    element: labelled(field, own, list),
    read: () => {
      const chosen = list.value === ""
        ? undefined
        : options[Number(list.value)]?.value;
      return isBoolean && chosen !== undefined ? chosen === "true" : chosen;
    },
  };
}

/**
 * @param {Field} field
 * @param {string} own
 */
function checkboxes(field, own) {
  const chosen = Array.isArray(field.default) ? field.default : [];
  const boxes = (field.options ?? []).map(({ value, label }, i) => ({
    value,
    label,
    box: h("input", {
      type: "checkbox",
      id: `${own}-${i}`,
      checked: chosen.includes(value),
    }),
  }));
  const element = h(
    "fieldset",
    {},
    h("legend", {}, field.label, field.isRequired ? "" : " (optional)"),
    field.description !== undefined && h("small", {}, field.description),
    boxes.map(({ box, label }) =>
      h("p", { class: "check" }, box, h("label", { for: box.id }, label))
    ),
  );
  return {
    element,
    read: () => {
      const values = boxes.filter(({ box }) => box.checked).map(({ value }) =>
        value
      );
      return values.length === 0 && !field.isRequired ? undefined : values;
    },
  };
}

/**
 * @param {Field} field
 * @param {string} own
 * @param {HTMLElement} input
 */
const labelled = ({ label, description, isRequired }, own, input) =>
  h(
    "p",
    { class: "field" },
    h("label", { for: own }, label, isRequired ? "" : " (optional)"),
    input,
    description !== undefined && h("small", { id: `${own}-hint` }, description),
  );
