// @ts-check
/// <reference lib="dom" />
/*
 * The form for a tool's arguments, as their JSON Schema describes them; values without a field of their
 * own are written as JSON, and so may be the whole.
 */
/** @import { FormField } from "./form_schema.js" */
import { button, buttonFor, h } from "../kit/element.js";
import { fieldset, labelled, selectList } from "../kit/fields.js";
import { FieldError, objectOf, planForm, readText } from "./form_schema.js";

/**
 * A form for a person.
 * @typedef {object} Form
 * @property {HTMLElement} element
 * @property {() => unknown} read throws a {@link FieldError}, and shows it at its field
 */

/**
 * A part of a form; `undefined` is not sent.
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
  const isGroup = plan.kind === "group";
  const { elements, read } = makeFields(id, isGroup ? plan.fields : []);
  const asJson = makeJson({
    ...plan,
    kind: "json",
    label: "Arguments as JSON",
    isRequired: true,
    initial: {},
  }, `${id}-json`);
  const group = h(
    "div",
    elements.length === 0 ? h("p.muted", "It takes no arguments.") : elements,
  );
  const toggle = h("input", {
    type: "checkbox",
    id: `${id}-as`,
    checked: !isGroup,
  });
  const show = () => {
    group.hidden = toggle.checked;
    asJson.element.hidden = !toggle.checked;
  };
  const readFields = () => objectOf(read());
  toggle.addEventListener("change", () => {
    if (toggle.checked) {
      try {
        asJson.write(readFields());
      } catch {
        // Incomplete values stay in the fields.
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
      isGroup &&
        h(
          "p.check",
          toggle,
          h("label", { for: toggle.id }, "Write the arguments as JSON"),
        ),
    ),
    read: () => toggle.checked ? asJson.read() : readFields(),
  };
}

/**
 * Makes the parts of several fields.
 *
 * @param {string} id
 * @param {readonly FormField[]} [fields]
 */
function makeFields(id, fields = []) {
  const parts = fields.map((field, i) => makePart(field, `${id}-${i}`));
  return {
    elements: parts.map(({ element }) => element),
    /** @returns {(readonly [name: string, value: unknown])[]} */
    read: () => fields.map(({ name }, i) => [name, parts[i]?.read()]),
  };
}

/** @type {Maker} */
const makePart = (field, id) => (MAKERS[field.kind] ?? makeText)(field, id);

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
    read: within(input, () => {
      if (!input.checkValidity() && input.value !== "") {
        throw new FieldError(field.label || "Value", input.validationMessage);
      }
      return readText(field, input.value);
    }),
  };
}

/** @type {Maker} */
function makeChoice(field, id) {
  const { options = [], initial, isRequired } = field;
  const isOnly = isRequired && options.length === 1;
  const none = isRequired ? "(choose)" : "(not sent)";
  const list = selectList(
    id,
    isOnly ? undefined : none,
    options,
    options.indexOf(initial),
  );
  return {
    element: labelled(field, list),
    read: within(list, () => {
      if (list.value !== "") return options[Number(list.value)];
      if (isRequired) {
        throw new FieldError(field.label || "Value", "choose one");
      }
      return undefined;
    }),
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
    read: within(input, () => readText(field, input.value)),
    write,
  };
}

/** @type {Maker} */
function makeGroup(field, id) {
  const { elements, read } = makeFields(id, field.fields);
  return {
    element: fieldset(field, elements),
    read: () => {
      const entries = read();
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
      buttonFor("Remove", `${field.label} ${number}`, () => {
        parts.delete(part);
        row.remove();
        more.focus();
      }),
    );
    parts.add(part);
    items.append(row);
    return row;
  };
  const more = button(`Add to ${field.label}`, () => {
    const input = add(undefined)?.querySelector("input, select, textarea");
    if (input instanceof HTMLElement) input.focus();
  });
  if (Array.isArray(initial)) initial.slice(0, 20).forEach(add);
  return {
    element: fieldset(field, items, h("p", more)),
    read: () => {
      const values = [...parts].map((part) => part.read());
      return values.length === 0 && !field.isRequired ? undefined : values;
    },
  };
}

/** Parts of each kind; of others an input for a text. @type {Readonly<Record<string, Maker>>} */
const MAKERS = {
  group: makeGroup,
  list: makeList,
  boolean: (field, id) => makeChoice({ ...field, options: [true, false] }, id),
  choice: makeChoice,
  json: makeJson,
};

/**
 * Shows at an input that its value is refused.
 *
 * @template Value
 * @param {HTMLElement} input
 * @param {() => Value} read
 * @returns {() => Value}
 */
const within = (input, read) => () => {
  input.removeAttribute("aria-invalid");
  try {
    return read();
  } catch (error) {
    input.setAttribute("aria-invalid", "true");
    input.focus();
    throw error;
  }
};
