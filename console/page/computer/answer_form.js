// @ts-check
/// <reference lib="dom" />
/** @import { Asking, Choice } from "./live.js" */
import { h } from "../ui/element.js";
import { inputOf } from "./field_input.js";

/**
 * Makes what a question is answered with: buttons, and fields before them.
 *
 * @param {Asking} asking
 * @param {string} id of the question
 * @param {(answer: unknown) => Promise<void>} send
 * @returns {HTMLElement}
 */
export function answerForm(asking, id, send) {
  switch (asking.kind) {
    case "confirm":
      return h(
        "p",
        { class: "actions" },
        (asking.choices ?? []).map(({ answer, label }) =>
          button(label, () => send({ answer }))
        ),
      );
    case "input":
      return inputForm(asking, id, send);
    case "elicit":
      return elicitForm(asking, id, send);
  }
}

/**
 * @param {string} label
 * @param {() => unknown} [onClick] none for one that sends a form
 */
const button = (label, onClick) =>
  h("button", {
    type: onClick ? "button" : "submit",
    class: onClick ? undefined : "primary",
    onClick: (/** @type {Event} */ event) => {
      const isHeld = event.currentTarget instanceof Element &&
        event.currentTarget.getAttribute("aria-disabled") === "true";
      if (isHeld) event.preventDefault();
      else onClick?.();
    },
  }, label);

/**
 * @param {() => unknown} onSubmit
 * @param {readonly (HTMLElement | readonly HTMLElement[])[]} parts
 */
const form = (onSubmit, ...parts) =>
  h("form", {
    noValidate: true, // the Computer says what is wrong
    onSubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      onSubmit();
    },
  }, ...parts);

/**
 * @param {Asking} asking
 * @param {string} id
 * @param {(answer: unknown) => Promise<void>} send
 */
function inputForm({ type, isSecret, options = [], fallback }, id, send) {
  const isPick = type === "pickString";
  const { element, read } = inputOf({
    kind: isPick ? "choice" : "text",
    name: "value",
    label: "Value",
    isRequired: true,
    isSecret: isSecret === true,
    options: options.map((label, i) => ({ value: String(i), label })),
    ...fallback !== undefined && { default: String(fallback) },
  }, id);
  const answer = () => {
    const value = read();
    if (!isPick) return { value: value ?? null };
    return { option: value === undefined ? null : Number(value) };
  };
  const nothing = isPick ? { option: null } : { value: null };
  return form(
    () => send(answer()),
    element,
    h(
      "p",
      { class: "actions" },
      button("Answer"),
      button("No answer", () => send(nothing)),
    ),
  );
}

/**
 * @param {Asking} asking
 * @param {string} id
 * @param {(answer: unknown) => Promise<void>} send
 */
function elicitForm({ fields = [], choices = [] }, id, send) {
  const inputs = fields.map((field) => ({ field, ...inputOf(field, id) }));
  const accept = () =>
    send({
      action: "accept",
      content: Object.fromEntries(
        inputs.map(({ field, read }) => [field.name, read()])
          .filter(([, value]) => value !== undefined),
      ),
    });
  return form(
    accept,
    inputs.map(({ element }) => element),
    h(
      "p",
      { class: "actions" },
      choices.map(({ answer, label }) =>
        button(
          label,
          answer === "accept" ? undefined : () => send({ action: answer }),
        )
      ),
    ),
  );
}
