// @ts-check
/// <reference lib="dom" />
/** @import { FormField } from "./form_schema.js" */
import { h } from "./element.js";
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
    {},
    fields.length === 0
      ? h("p", { class: "muted" }, "It takes no arguments.")
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
      "div",
      { class: "form" },
      group,
      asJson.element,
      plan.kind === "group" &&
        h(
          "p",
          { class: "check" },
          toggle,
          h("label", { for: toggle.id }, "Write the arguments as JSON"),
        ),
    ),
    read: () => toggle.checked ? asJson.read() : readFields(),
  };
}

/**
 * @param {FormField} field
 * @param {string} id
 * @returns {Part}
 */
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

/**
 * @param {FormField} field
 * @param {string} id
 * @returns {Part}
 */
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
    element: labelled(field, id, input),
    read: () => {
      if (!input.checkValidity() && input.value !== "") {
        throw refused(input, field, input.validationMessage);
      }
      return within(input, () => readText(field, input.value));
    },
  };
}

/**
 * @param {FormField} field
 * @param {string} id
 * @returns {Part}
 */
function makeChoice(field, id) {
  const { options = [], initial, isRequired } = field;
  const isOnly = isRequired && options.length === 1;
  const list = h(
    "select",
    { id },
    !isOnly &&
      h("option", { value: "" }, isRequired ? "(choose)" : "(not sent)"),
    // By position: a value may be empty.
    options.map((value, i) =>
      h(
        "option",
        { value: String(i), selected: value === initial },
        String(value),
      )
    ),
  );
  return {
    element: labelled(field, id, list),
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
  const input = h("textarea", {
    id,
    rows: 4,
    spellcheck: false,
    class: "code",
  });
  const write = (/** @type {unknown} */ value) => {
    input.value = value === undefined
      ? ""
      : JSON.stringify(value, undefined, 2);
  };
  write(field.initial);
  return {
    element: labelled(
      field,
      id,
      input,
      field.label === "Arguments as JSON" ? "" : "as JSON",
    ),
    read: () => within(input, () => readText(field, input.value)),
    write,
  };
}

/**
 * @param {FormField} field
 * @param {string} id
 * @returns {Part}
 */
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

/**
 * @param {FormField} field
 * @param {string} id
 * @returns {Part}
 */
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
      "div",
      { class: "item" },
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
    element: fieldset(field, [items, h("p", {}, button)]),
    read: () => {
      const values = [...parts].map((part) => part.read());
      return values.length === 0 && !field.isRequired ? undefined : values;
    },
  };
}

/**
 * @param {FormField} field
 * @param {readonly HTMLElement[]} content
 */
const fieldset = ({ label, description, isRequired }, content) =>
  h(
    "fieldset",
    {},
    h("legend", {}, h("bdi", {}, label), isRequired ? "" : " (optional)"),
    description && h("small", {}, description),
    content,
  );

/**
 * @param {FormField} field
 * @param {string} id
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} input
 * @param {string} [note]
 */
function labelled({ label, description, isRequired }, id, input, note = "") {
  if (description) input.setAttribute("aria-describedby", `${id}-hint`);
  const notes = [note, isRequired ? "" : "optional"].filter((text) =>
    text !== ""
  ).join(", ");
  return h(
    "p",
    { class: "field" },
    h(
      "label",
      { for: id },
      h("bdi", {}, label || "Value"),
      notes && ` (${notes})`,
    ),
    input,
    description && h("small", { id: `${id}-hint` }, description),
  );
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
