// @ts-check
/// <reference lib="dom" />
/** @import { Asking, Choice, Field, Question } from "./live.js" */
/** @import { Api } from "../kit/api.js" */
/** @import { View } from "../kit/page.js" */
import { h, keyed } from "../kit/element.js";
import { notify, problem } from "../kit/parts.js";

/** Clicks this soon after something moved were meant for something else, as keys at the terminal. */
const IGNORE_CLICKS_MS = 500;
/** How many that have ended stay to be seen. */
const MAX_ENDED = 3;

/**
 * Adds the open questions above a view.
 *
 * @param {View} view
 * @returns {View}
 */
export const withQuestions = (view) => ({
  title: view.title,
  show: (root, context) => {
    const lost = h("p", { class: "problem", role: "alert", hidden: true });
    const heading = h("h2", { id: "questions", "aria-live": "polite" });
    const list = h("div");
    const panel = h(
      "section",
      { class: "questions", "aria-labelledby": "questions", hidden: true },
      heading,
      list,
    );
    const inner = h("div");
    root.append(lost, panel, inner);
    const { api, live, signal } = context;
    const plainTitle = document.title;
    let before = "";
    live.subscribe(() => {
      /** @type {readonly Question[]} */
      const all = live.questions;
      const open = all.filter(({ endedBy }) => !endedBy);
      const shown = [
        ...all.filter(({ endedBy }) => endedBy).slice(-MAX_ENDED),
        ...open,
      ]
        .toSorted((a, b) => a.askedAt - b.askedAt);
      lost.hidden = live.state !== "lost";
      lost.textContent = lost.hidden ? "" : LOST;
      panel.hidden = shown.length === 0;
      panel.classList.toggle("waiting", open.length > 0);
      heading.textContent = open.length === 0
        ? "No question waits"
        : open.length === 1
        ? "1 question waits"
        : `${open.length} questions wait`;
      document.title = open.length === 0
        ? plainTitle
        : `(${open.length}) ${plainTitle}`;
      keyed(
        list,
        shown,
        {
          keyOf: ({ id, endedBy }) => `${id} ${endedBy ?? "open"}`,
          make: (question) =>
            question.endedBy ? ended(question) : asked(question, api),
          update: () => {}, // what was typed stays
        },
      );
      const now = shown.map(({ id, endedBy = "open" }) => id + endedBy).join();
      if (now !== before) hold(list);
      before = now;
    }, signal);
    return view.show(inner, context);
  },
});

const LOST =
  "The Computer does not answer, so this may be old; trying again. If it was started anew, open the link that it printed then.";

/** @type {ReturnType<typeof setTimeout> | undefined} */
let released;

/**
 * Ignores clicks for a moment, since what was clicked may just have moved there.
 *
 * @param {Element} list
 */
function hold(list) {
  const buttons = () => list.querySelectorAll("button");
  for (const button of buttons()) button.setAttribute("aria-disabled", "true");
  clearTimeout(released);
  released = setTimeout(() => {
    for (const button of buttons()) button.removeAttribute("aria-disabled");
  }, IGNORE_CLICKS_MS);
}

const WHO = {
  page: "Answered on a page",
  terminal: "Answered at the terminal",
  nobody: "Not needed any more",
};

/** @param {Question} question */
function ended({ text, endedBy = "nobody", said }) {
  const [heading = ""] = text.split("\n");
  return h(
    "p",
    { class: "question ended muted" },
    heading,
    h(
      "strong",
      {},
      ` ${WHO[endedBy]}${endedBy === "nobody" ? "" : `: ${said}`}`,
    ),
  );
}

/**
 * @param {Question} question
 * @param {Api} api
 */
function asked({ id, text, asking }, api) {
  const [heading = "", ...rest] = text.split("\n");
  const problems = h("div");
  /** @param {unknown} answer */
  const send = async (answer) => {
    problems.replaceChildren();
    try {
      await api.post(`questions/${id}`, answer);
    } catch (error) {
      const status = Reflect.get(Object(error), "status");
      // Somebody else was first; the stream says who.
      if (status === 409) {
        notify(String(Reflect.get(Object(error), "message")), "error");
      } else problems.replaceChildren(problem(error));
    }
  };
  return h(
    "article",
    { class: "question", "aria-label": heading },
    h("h3", {}, heading),
    rest.length > 0 &&
      h(
        "pre",
        { tabIndex: 0, role: "region", "aria-label": "Details" },
        rest.join("\n"),
      ),
    answerForm(asking, id, send),
    problems,
  );
}

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
