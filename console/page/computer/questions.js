// @ts-check
/// <reference lib="dom" />
/*
 * The questions of a Computer, above each of its views. Typed values stay while others come and go, and
 * clicks count only when nothing has moved for a moment. Answers that need all of a question to be shown
 * wait until it was opened and scrolled to its end. The Computer checks each answer.
 */
/** @import { Asking, Field, Question, ComputerLive } from "./live.js" */
/** @import { Api } from "../kit/api.js" */
/** @import { View } from "../kit/page.js" */
import { h, keyed } from "../kit/element.js";
import { ProblemError } from "../kit/api.js";
import { fieldset, labelled, plainForm, selectList } from "../kit/fields.js";
import { notify, problem } from "../kit/parts.js";
import { createReading } from "./reading.js";

/** Clicks this soon after something moved were meant for something else, as keys at the terminal. */
const IGNORE_CLICKS_MS = 500;
/** How many that have ended stay to be seen. */
const MAX_ENDED = 3;

/**
 * Adds the open questions above a view.
 *
 * @param {View<ComputerLive>} view
 * @returns {View<ComputerLive>}
 */
export const withQuestions = (view) => ({
  title: view.title,
  show: (root, context) => {
    const lost = h("p.problem", { role: "alert", hidden: true });
    const heading = h("h2", { id: "questions", "aria-live": "polite" });
    const list = h("div");
    const panel = h(
      "section.questions",
      { "aria-labelledby": "questions", hidden: true },
      heading,
      list,
    );
    const inner = h("div");
    root.append(lost, panel, inner);
    const { api, live, signal } = context;
    const plainTitle = document.title;
    let before = "";
    live.subscribe(() => {
      const all = live.questions;
      const open = all.filter(({ endedBy }) => !endedBy);
      const latest = all.filter(({ endedBy }) => endedBy).slice(-MAX_ENDED);
      const shown = [...latest, ...open]
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
      const itemKey = (/** @type {Question} */ { id, endedBy }) =>
        `${id} ${endedBy ?? "open"}`;
      keyed(list, shown, {
        itemKey,
        make: (question) =>
          question.endedBy ? ended(question) : asked(question, api),
        update: () => {}, // typed values stay
      });
      const now = shown.map(itemKey).join();
      if (now !== before) hold(list);
      before = now;
    }, signal);
    return view.show(inner, context);
  },
});

const LOST =
  "The Computer does not answer, so this may be outdated; trying again. If it was restarted, open its new link.";

/** @type {ReturnType<typeof setTimeout> | undefined} */
let released;

/**
 * Ignores clicks for a moment, since the button may just have moved there.
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

const ENDINGS = {
  page: "Answered on a page",
  terminal: "Answered at the terminal",
  withdrawn: "Not needed any more",
};

/** @param {Question} question */
function ended({ subject, endedBy = "withdrawn", said }) {
  return h(
    "p.question.ended.muted",
    h(
      "strong",
      // Of a withdrawn one, what was said is why; it names where it was answered.
      endedBy === "withdrawn" && said?.startsWith("answered")
        ? `A${said.slice(1)}`
        : `${ENDINGS[endedBy]}${endedBy === "withdrawn" ? "" : `: ${said}`}`,
    ),
    h("bdi", ` ${subject}`),
  );
}

/**
 * @param {Question} question
 * @param {Api} api
 */
function asked(question, api) {
  const { id, title, excess, asking } = question;
  const problems = h("div");
  const failed = (/** @type {unknown} */ error) =>
    problems.replaceChildren(problem(error));
  /** @param {unknown} answer */
  const send = async (answer) => {
    problems.replaceChildren();
    try {
      await api.post(`questions/${id}`, answer);
    } catch (error) {
      // Another answer was first, which the stream has.
      if (error instanceof ProblemError && error.status === 409) {
        notify(error.message, "error");
      } else failed(error);
    }
  };
  const { fields, buttons, submit } = answerParts(asking, id, send);
  const load = async () => (await api.get(`questions/${id}`)).facts;
  const parts = createReading(question, { load, failed, fields, buttons });
  return h(
    "article.question",
    { "aria-label": title },
    h("h3", title),
    excess !== undefined &&
      h("p.problem", `It can only be refused: ${excess}.`),
    submit ? plainForm(UNCHECKED, submit, parts) : parts,
    problems,
  );
}

/** The Computer checks the answer. */
const UNCHECKED = { noValidate: true };

/**
 * The inputs and buttons of a question; without `submit` there is no form.
 * @typedef {object} Answers
 * @property {readonly HTMLElement[]} fields
 * @property {readonly { element: HTMLButtonElement, needsAll: boolean }[]} buttons
 * @property {() => unknown} [submit]
 */

/**
 * Makes the inputs and buttons of a question.
 *
 * @param {Asking} asking
 * @param {string} id of the question
 * @param {(answer: unknown) => Promise<void>} send
 * @returns {Answers}
 */
function answerParts(asking, id, send) {
  const { kind, fields = [], choices = [], url, ...about } = asking;
  if (kind === "input") return inputAnswers(about, id, send);
  if (kind === "confirm") {
    const buttons = choices.map(({ answer, label, needsAll }) => ({
      element: button(label, () => send({ answer })),
      needsAll,
    }));
    return { fields: [], buttons };
  }
  const inputs = fields.map((field) => ({ field, ...fieldInput(field, id) }));
  const submit = () => {
    const content = inputs.map(({ field, read }) => [field.name, read()]);
    // JSON has none of those that are undefined.
    return send({ action: "accept", content: Object.fromEntries(content) });
  };
  const buttons = choices.map(({ answer, label, needsAll }) => ({
    element: answer === "accept"
      ? button(label)
      : button(label, () => send({ action: answer })),
    needsAll,
  }));
  const elements = inputs.map(({ element }) => element);
  if (url !== undefined) {
    elements.push(button("Open the page", () => open(url)));
  }
  return { fields: elements, buttons, submit };
}

/**
 * Opens a page of others, which gets neither the address of this one nor a handle to it.
 *
 * @param {string} url
 */
function open(url) {
  globalThis.open(url, "_blank", "noopener,noreferrer");
}

/**
 * @param {Omit<Asking, "kind">} asking
 * @param {string} id
 * @param {(answer: unknown) => Promise<void>} send
 * @returns {Answers}
 */
function inputAnswers({ type, isSecret = false, options, fallback }, id, send) {
  const isPick = type === "pickString";
  const { element, read } = fieldInput({
    kind: isPick ? "choice" : "text",
    name: "value",
    label: "Value",
    isRequired: true,
    isSecret,
    options: (options ?? []).map((label, i) => ({ value: String(i), label })),
    ...fallback !== undefined && { default: String(fallback) },
  }, id);
  /** @param {Value} value */
  const answer = (value = null) =>
    send(isPick ? { option: value && Number(value) } : { value });
  const buttons = [button("Answer"), button("No answer", () => answer())]
    .map((element) => ({ element, needsAll: false }));
  return { fields: [element], buttons, submit: () => answer(read()) };
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
 * An entered value; `undefined` for none.
 * @typedef {string | number | boolean | string[] | null | undefined} Value
 */

/**
 * Makes the input of a field.
 *
 * @param {Field} field
 * @param {string} question makes ids unique on the page
 * @returns {{ element: HTMLElement, read: () => Value }}
 */
function fieldInput(field, question) {
  const id = `${question}-${field.name}`;
  if (field.kind === "choices") return checkboxes(field, id);
  if (field.kind === "boolean") {
    const options = [
      { value: "true", label: "Yes" },
      { value: "false", label: "No" },
    ];
    const { element, read } = select({ ...field, options }, id);
    return { element, read: () => read() && read() === "true" };
  }
  return field.kind === "choice" ? select(field, id) : typed(field, id);
}

/** Kinds of text that browsers have an input for. @type {Readonly<Record<string, string>>} */
const TEXT_TYPES = { email: "email", uri: "url", date: "date" };

/**
 * @param {Field} field
 * @param {string} id
 */
function typed(field, id) {
  const { kind, isSecret, format = "", default: fallback } = field;
  const isNumber = kind === "number";
  const input = h("input", {
    id,
    type: isSecret
      ? "password"
      : isNumber
      ? kind
      : TEXT_TYPES[format] ?? "text",
    autocomplete: "off",
    spellcheck: false,
    ...isNumber && { step: field.isInteger ? "1" : "any" },
    ...fallback !== undefined && { value: String(fallback) },
    "aria-required": field.isRequired,
  });
  return {
    element: labelled(field, input),
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
 * @param {string} id
 */
function select(field, id) {
  const { options = [], default: fallback } = field;
  const chosen = fallback === undefined
    ? -1
    : options.findIndex(({ value }) => value === String(fallback));
  const labels = options.map(({ label }) => label);
  const list = selectList(id, "(no answer)", labels, chosen);
  return {
    element: labelled(field, list),
    read: () =>
      list.value === "" ? undefined : options[Number(list.value)]?.value,
  };
}

/**
 * @param {Field} field
 * @param {string} id
 */
function checkboxes(field, id) {
  const chosen = Array.isArray(field.default) ? field.default : [];
  const boxes = (field.options ?? []).map(({ value, label }, i) => {
    const checked = chosen.includes(value);
    const box = h("input", { type: "checkbox", id: `${id}-${i}`, checked });
    return { value, label, box };
  });
  return {
    element: fieldset(
      field,
      boxes.map(({ box, label }) =>
        h("p.check", box, h("label", { for: box.id }, label))
      ),
    ),
    read: () => {
      const values = boxes.filter(({ box }) => box.checked)
        .map(({ value }) => value);
      return values.length === 0 && !field.isRequired ? undefined : values;
    },
  };
}
