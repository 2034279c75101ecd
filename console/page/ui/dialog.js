// @ts-check
/// <reference lib="dom" />
import { h } from "./element.js";

/**
 * A field of a dialog.
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {string} [hint]
 * @property {string} [value]
 * @property {"text" | "number" | "password"} [type]
 * @property {boolean} [optional]
 * @property {number} [maxLength]
 * @property {number} [min]
 * @property {number} [max]
 * @property {readonly { value: string, text: string }[]} [options] it is one of these, at first the first
 * @property {readonly [name: string, value: string]} [onlyFor] it is shown while another field has a value
 */

let dialogs = 0;

/**
 * Asks for what an action needs, in a dialog.
 *
 * @param {{ title: string, text?: string, action: string, danger?: boolean, fields: readonly Field[] }} about
 * @returns {Promise<Record<string, string> | undefined>} `undefined` when it was cancelled
 */
export function ask({ title, text, action, danger = false, fields }) {
  const id = `dialog-${++dialogs}`;
  const inputs = fields.map((field) => {
    const input = inputOf(field, `${id}-${field.name}`);
    const element = h(
      "p",
      { class: "field" },
      h("label", { for: input.id }, field.label),
      input,
      field.hint && h("small", { id: `${input.id}-hint` }, field.hint),
    );
    return { field, input, element };
  });
  const update = () => {
    for (const { field: { onlyFor }, input, element } of inputs) {
      if (onlyFor === undefined) continue;
      const [name, value] = onlyFor;
      const other = inputs.find(({ field }) => field.name === name);
      input.disabled = element.hidden = other?.input.value !== value;
    }
  };
  const form = h(
    "form",
    {
      onSubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        dialog.close("done");
      },
      onChange: update,
    },
    h("h2", { id }, title),
    text && h("p", {}, text),
    inputs.map(({ element }) => element),
    h(
      "p",
      { class: "actions" },
      h(
        "button",
        { type: "submit", class: danger ? "danger" : "primary" },
        action,
      ),
      h(
        "button",
        { type: "button", onClick: () => dialog.close("") },
        "Cancel",
      ),
    ),
  );
  const dialog = h("dialog", { "aria-labelledby": id }, form);
  update();
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(
        dialog.returnValue === "done"
          ? Object.fromEntries(
            inputs.map(({ field, input }) => [field.name, input.value.trim()]),
          )
          : undefined,
      );
    })
  );
}

/**
 * Asks why an operator does something.
 *
 * @param {{ title: string, text?: string, action: string }} about
 * @returns {Promise<string | undefined>} `undefined` when it was cancelled
 */
export async function askReason(about) {
  const answer = await ask({ ...about, danger: true, fields: [REASON] });
  return answer?.["reason"];
}

/** The field for a reason. @type {Field} */
export const REASON = {
  name: "reason",
  label: "Reason",
  hint: "Those whom it concerns get it, and the audit log has it.",
  maxLength: 200,
};

/**
 * @param {Field} field
 * @param {string} id
 */
const inputOf = (field, id) =>
  field.options
    ? h(
      "select",
      { id },
      field.options.map(({ value, text }) => h("option", { value }, text)),
    )
    : h("input", {
      id,
      type: field.type ?? "text",
      value: field.value ?? "",
      required: !field.optional,
      autocomplete: "off",
      maxLength: field.maxLength,
      min: field.min === undefined ? undefined : String(field.min),
      max: field.max === undefined ? undefined : String(field.max),
      "aria-describedby": field.hint === undefined ? undefined : `${id}-hint`,
    });
