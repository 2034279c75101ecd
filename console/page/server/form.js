// @ts-check
/// <reference lib="dom" />
/*
 * The form for a tool's arguments, as their JSON Schema describes them; what has no field of its own
 * is written as JSON, and so may be the whole.
 */
/** @import { FormField } from "./form_schema.js" */
import { h } from "../kit/element.js";
import { fieldset, labelled, selectOf } from "../kit/fields.js";
import { FieldError, objectOf, planForm, readText } from "./form_schema.js";

/**
 * What a person fills in.
 * @typedef {object} Form
 * @property {HTMLElement} element
 * @property {() => unknown} read throws {@link FieldError}, and shows where
 */

/**
 * A part of a form; what is `undefined` is not sent.
 * @typedef {{ element: HTMLElement, read: () => unknown }} Part
 *
 * @typedef {(field: FormField, id: string) => Part} Maker
 */

let forms = 0;

/**
 * Makes a form for a JSON Schema of an object; the whole can be written as JSON instead.
 *
 * @param {unknown} schema
 * @returns {Form}
 */
export function createForm(schema) {
  const id = `form-${++forms}`;
  const plan = planForm(schema);
  const fields = plan.kind === "group"
    ? plan.fields?.map((field, i) => makePart(field, `${id}-${i}`)) ?? []
    : [];
  const asJson = makeJson({
    ...plan,
    kind: "json",
    label: "Arguments as JSON",
    isRequired: true,
    initial: {},
  }, `${id}-json`);
  const group = h(
    "div",
    fields.length === 0
      ? h("p.muted", "It takes no arguments.")
      : fields.map(({ element }) => element),
  );
  const toggle = h("input", {
    type: "checkbox",
    id: `${id}-as`,
    checked: plan.kind !== "group",
  });
  const show = () => {
    group.hidden = toggle.checked;
    asJson.element.hidden = !toggle.checked;
  };
  const readFields = () =>
    objectOf(
      (plan.fields ?? []).map(({ name }, i) => [name, fields[i]?.read()]),
    );
  toggle.addEventListener("change", () => {
    if (toggle.checked) {
      try {
        asJson.write(readFields());
      } catch {
        // What is not complete yet stays in the fields.
      }
    }
    show();
  });
  show();
  return {
    element: h(
      "div.form",
      group,
      asJson.element,
      plan.kind === "group" &&
        h(
          "p.check",
          toggle,
          h("label", { for: toggle.id }, "Write the arguments as JSON"),
        ),
    ),
    read: () => toggle.checked ? asJson.read() : readFields(),
  };
}

/** @type {Maker} */
function makePart(field, id) {
  switch (field.kind) {
    case "group":
      return makeGroup(field, id);
    case "list":
      return makeList(field, id);
    case "boolean":
      return makeChoice({ ...field, options: [true, false] }, id);
    case "choice":
      return makeChoice(field, id);
    case "json":
      return makeJson(field, id);
    default:
      return makeText(field, id);
  }
}

/** @type {Maker} */
function makeText(field, id) {
  const { kind, initial, rules = {} } = field;
  const isLong = kind === "text" && rules["type"] === undefined;
  const input = isLong
    ? h("textarea", { id, rows: 1, spellcheck: false })
    : h("input", {
      id,
      type: rules["type"] ?? (kind === "text" ? "text" : "number"),
      autocomplete: "off",
    });
  for (const [name, value] of Object.entries(rules)) {
    if (name !== "type") input.setAttribute(name, value);
  }
  if (typeof initial === "string" || typeof initial === "number") {
    input.value = String(initial);
  }
  return {
    element: labelled(field, input),
    read: () => {
      if (!input.checkValidity() && input.value !== "") {
        throw refused(input, field, input.validationMessage);
      }
      return within(input, () => readText(field, input.value));
    },
  };
}

/** @type {Maker} */
function makeChoice(field, id) {
  const { options = [], initial, isRequired } = field;
  const isOnly = isRequired && options.length === 1;
  const none = isRequired ? "(choose)" : "(not sent)";
  const list = selectOf(
    id,
    isOnly ? undefined : none,
    options,
    options.indexOf(initial),
  );
  return {
    element: labelled(field, list),
    read: () => {
      if (list.value !== "") return options[Number(list.value)];
      if (isRequired) throw refused(list, field, "choose one");
      return undefined;
    },
  };
}

/**
 * @param {FormField} field
 * @param {string} id
 */
function makeJson(field, id) {
  const input = h("textarea.code", { id, rows: 4, spellcheck: false });
  const write = (/** @type {unknown} */ value) => {
    input.value = value === undefined
      ? ""
      : JSON.stringify(value, undefined, 2);
  };
  write(field.initial);
  return {
    element: labelled(
      field,
      input,
      field.label === "Arguments as JSON" ? "" : "as JSON",
    ),
    read: () => within(input, () => readText(field, input.value)),
    write,
  };
}

/** @type {Maker} */
function makeGroup(field, id) {
  const { fields = [] } = field;
  const parts = fields.map((each, i) => makePart(each, `${id}-${i}`));
  return {
    element: fieldset(field, parts.map(({ element }) => element)),
    read: () => {
      /** @type {(readonly [string, unknown])[]} */
      const entries = fields.map(({ name }, i) => [name, parts[i]?.read()]);
      const isEmpty = entries.every(([, value]) =>
        value === undefined || value === ""
      );
      return isEmpty && !field.isRequired ? undefined : objectOf(entries);
    },
  };
}

/** @type {Maker} */
function makeList(field, id) {
  const { item, initial } = field;
  const items = h("div");
  /** @type {Set<Part>} */
  const parts = new Set();
  let made = 0;
  const add = (/** @type {unknown} */ value) => {
    if (!item) return;
    const number = ++made;
    const part = makePart({
      ...item,
      label: `${field.label} ${number}`,
      ...(value !== undefined && { initial: value }),
    }, `${id}-${number}`);
    const row = h(
      "div.item",
      part.element,
      h("button", {
        type: "button",
        "aria-label": `Remove ${field.label} ${number}`,
        onClick: () => {
          parts.delete(part);
          row.remove();
          button.focus();
        },
      }, "Remove"),
    );
    parts.add(part);
    items.append(row);
    return row;
  };
  const button = h("button", {
    type: "button",
    onClick: () => {
      const input = add(undefined)?.querySelector("input, select, textarea");
      if (input instanceof HTMLElement) input.focus();
    },
  }, `Add to ${field.label}`);
  if (Array.isArray(initial)) initial.slice(0, 20).forEach(add);
  return {
    element: fieldset(field, items, h("p", button)),
    read: () => {
      const values = [...parts].map((part) => part.read());
      return values.length === 0 && !field.isRequired ? undefined : values;
    },
  };
}

/**
 * @template Value
 * @param {HTMLElement} input
 * @param {() => Value} read
 * @returns {Value}
 */
function within(input, read) {
  input.removeAttribute("aria-invalid");
  try {
    return read();
  } catch (error) {
    input.setAttribute("aria-invalid", "true");
    input.focus();
    throw error;
  }
}

/**
 * @param {HTMLElement} input
 * @param {FormField} field
 * @param {string} problem
 */
function refused(input, field, problem) {
  input.setAttribute("aria-invalid", "true");
  input.focus();
  return new FieldError(field.label || "Value", problem);
}
